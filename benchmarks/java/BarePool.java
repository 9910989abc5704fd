package io.sidecypher.bench;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.UnknownHostException;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import javax.net.SocketFactory;
import py4j.ClientServerConnection;
import py4j.Gateway;
import py4j.GatewayServer;
import py4j.Py4JException;
import py4j.PythonClient;
import py4j.reflection.ReflectionUtil;
import py4j.reflection.RootClassLoadingStrategy;

/** Py4J's client with a pool of connections instead of one for each thread; nothing else is changed. */
final class BarePool extends PythonClient {
    private static final int CONNECTIONS = 16;

    private final int port;
    private final Semaphore permits = new Semaphore(CONNECTIONS, true);
    private final ConcurrentLinkedDeque<ClientServerConnection> idle = new ConcurrentLinkedDeque<>();

    private BarePool(int port) throws UnknownHostException {
        super(null, List.of(), port, InetAddress.getLoopbackAddress(), 0, TimeUnit.SECONDS,
                SocketFactory.getDefault(), null, false, 0, null);
        this.port = port;
    }

    static Bare.Endpoint connect(int port) throws UnknownHostException {
        GatewayServer.turnLoggingOff();
        ReflectionUtil.setClassLoadingStrategy(new OwnClasses());
        BarePool pool = new BarePool(port);
        Gateway gateway = new Gateway(null, pool);
        pool.setGateway(gateway);
        gateway.startup();
        return (Bare.Endpoint) pool.getPythonServerEntryPoint(gateway, new Class<?>[] {Bare.Endpoint.class});
    }

    @Override
    public String sendCommand(String command, boolean blocking) {
        permits.acquireUninterruptibly();
        try {
            ClientServerConnection connection = idle.pollFirst();
            if (connection == null) {
                connection = open();
            }
            String reply = connection.sendCommand(command, blocking);
            idle.addFirst(connection);
            return reply;
        } catch (IOException failed) {
            throw new Py4JException("the bare sidecar does not answer", failed);
        } finally {
            permits.release();
        }
    }

    private ClientServerConnection open() throws IOException {
        Socket socket = new Socket();
        socket.setTcpNoDelay(true);
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 1000);
        ClientServerConnection connection =
                new ClientServerConnection(gateway, socket, List.of(), this, null, 0, null);
        connection.setInitiatedFromClient(true);
        connection.start();
        return connection;
    }

    /** Py4J's own strategy asks the thread's loader, which does not see plugins. */
    private static final class OwnClasses extends RootClassLoadingStrategy {
        @Override
        public ClassLoader getClassLoader() {
            return BarePool.class.getClassLoader();
        }

        @Override
        public Class<?> classForName(String name) throws ClassNotFoundException {
            return Class.forName(name, true, getClassLoader());
        }
    }
}
