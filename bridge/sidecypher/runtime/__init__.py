"""The embedded Neo4j: its jars, its Java, its processes."""

from sidecypher.address import USER, Ports, read_ports
from sidecypher.runtime.bootcheck import boot_check
from sidecypher.runtime.download import MAVEN_CENTRAL, Retry, fetch
from sidecypher.runtime.errors import (
    AlreadyRunning,
    CorruptJar,
    DownloadFailed,
    JavaNotFound,
    NotRunning,
    PluginRefused,
    PortInUse,
    RuntimeFailure,
    ServerFailed,
    WrongJava,
)
from sidecypher.runtime.installation import Installation
from sidecypher.runtime.java import Java, Javas, way_to_java
from sidecypher.runtime.lockfile import Jar, Lock, load_api_lock, load_compiler_lock, load_lock
from sidecypher.runtime.neo4j import Neo4jServer
from sidecypher.runtime.ports import choose_ports
from sidecypher.runtime.process.child import Backoff
from sidecypher.runtime.process.detached import launch_supervisor
from sidecypher.runtime.process.restart import restart_process
from sidecypher.runtime.process.spec import ProcessSpec
from sidecypher.runtime.process.state import ProcessState, State, read_state
from sidecypher.runtime.process.stop import stop
from sidecypher.runtime.process.supervisor import Supervisor
from sidecypher.runtime.throwaway import running, throwaway_server

__all__ = [
    "MAVEN_CENTRAL",
    "USER",
    "AlreadyRunning",
    "Backoff",
    "CorruptJar",
    "DownloadFailed",
    "Installation",
    "Jar",
    "Java",
    "JavaNotFound",
    "Javas",
    "Lock",
    "Neo4jServer",
    "NotRunning",
    "PluginRefused",
    "PortInUse",
    "Ports",
    "ProcessSpec",
    "ProcessState",
    "Retry",
    "RuntimeFailure",
    "ServerFailed",
    "State",
    "Supervisor",
    "WrongJava",
    "boot_check",
    "choose_ports",
    "fetch",
    "launch_supervisor",
    "load_api_lock",
    "load_compiler_lock",
    "load_lock",
    "read_ports",
    "read_state",
    "restart_process",
    "running",
    "stop",
    "throwaway_server",
    "way_to_java",
]
