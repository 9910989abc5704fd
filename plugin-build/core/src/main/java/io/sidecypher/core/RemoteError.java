package io.sidecypher.core;

import com.fasterxml.jackson.core.JsonParser;
import java.io.IOException;
import java.util.Map;

/**
 * The error in a reply, in the sidecar's words.
 *
 * @param retryable whether the same call may succeed later without a change
 */
record RemoteError(String code, String message, String hint, boolean retryable) {
    /** Reads the object that begins at the parser's current token. */
    static RemoteError read(JsonParser json) throws IOException {
        Map<String, Object> members = Json.readObject(json);
        if (members.get("code") instanceof String code && members.get("message") instanceof String message) {
            String hint = members.get("hint") instanceof String text ? text : "";
            return new RemoteError(code, message, hint, Boolean.TRUE.equals(members.get("retryable")));
        }
        throw new ValueProblem("has an error without code and message");
    }
}
