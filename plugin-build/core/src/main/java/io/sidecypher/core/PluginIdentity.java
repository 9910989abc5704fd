package io.sidecypher.core;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;

/**
 * The key and certificate by which a sidecar on another machine recognizes this plugin, both as PEM.
 */
record PluginIdentity(String key, String certificate) {
    private static final String KEY_FILE = "plugin-key.pem";
    private static final String CERTIFICATE_FILE = "plugin-certificate.pem";

    /** Returns the identity in a run folder; null if it has none, as that of a sidecar on this machine. */
    static PluginIdentity read(Path runDir) {
        Path key = runDir.resolve(KEY_FILE);
        if (!Files.exists(key)) {
            return null;
        }
        try {
            return new PluginIdentity(Files.readString(key), Files.readString(runDir.resolve(CERTIFICATE_FILE)));
        } catch (IOException unreadable) {
            throw WireFailure.unavailable("plugin-key.pem or plugin-certificate.pem in the run folder cannot be read");
        }
    }

    KeyManager[] keyManagers() {
        try {
            Certificate[] chain = {CertificateFactory.getInstance("X.509")
                    .generateCertificate(
                            new ByteArrayInputStream(certificate.getBytes(StandardCharsets.US_ASCII)))};
            byte[] encoded = Base64.getMimeDecoder().decode(key.replaceAll("-----[A-Z ]+-----", ""));
            PrivateKey privateKey = KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(encoded));
            char[] noPassword = {};
            KeyStore store = KeyStore.getInstance("PKCS12");
            store.load(null, noPassword);
            store.setKeyEntry("plugin", privateKey, noPassword, chain);
            KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            factory.init(store, noPassword);
            return factory.getKeyManagers();
        } catch (GeneralSecurityException | IOException | IllegalArgumentException malformed) {
            throw WireFailure.unavailable("plugin-key.pem or plugin-certificate.pem in the run folder is malformed");
        }
    }

    /** Leaves out the key, which a record would print. */
    @Override
    public String toString() {
        return "PluginIdentity";
    }
}
