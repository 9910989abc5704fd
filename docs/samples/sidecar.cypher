// The sidecar that answers: what it has, how it is, and what it does.
CALL sidecypher.info() YIELD version, procedures, leftOut
RETURN version, procedures, leftOut;

CALL sidecypher.health() YIELD check, ok
RETURN check, ok;

CALL sidecypher.running() YIELD name, user, seconds
RETURN name, user, seconds;
