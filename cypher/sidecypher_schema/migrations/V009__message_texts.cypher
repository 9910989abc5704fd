// Messages in the order of time, and the words of texts above 8 KiB, which are in a Payload.

CREATE INDEX message_timestamp IF NOT EXISTS FOR (n:Message) ON (n.timestamp);
// Filled a moment after a commit, as message_text is.
CREATE FULLTEXT INDEX payload_text IF NOT EXISTS FOR (n:Payload) ON EACH [n.content]
OPTIONS {indexConfig: {`fulltext.eventually_consistent`: true}};
