// Writes an `Outbox` node for each change that is watched, in the transaction that makes it.
//
// Most transactions change nothing of this and end here. No plan of it is better than another: see
// the trigger `rules-guard`.
CYPHER replan=skip
UNWIND CASE WHEN
  any(key IN keys($properties)
      WHERE $assignedNodeProperties[key] IS NOT NULL OR $removedNodeProperties[key] IS NOT NULL)
  OR any(label IN $labels
         WHERE $assignedLabels[label] IS NOT NULL OR $removedLabels[label] IS NOT NULL)
  OR any(each IN $createdRelationships WHERE type(each) IN $types)
  OR any(each IN $deletedRelationships WHERE type(each) IN $types)
THEN [true] ELSE [] END AS concerned
// In a text, so that Neo4j plans it only when there is something to write.
CALL apoc.cypher.doIt("
  CALL () {
    UNWIND $changed AS row
    MATCH (n) WHERE elementId(n) = row.node
    UNWIND [each IN row.labels WHERE each IN labels(n)] AS label
    RETURN 'changed' AS kind, label, row.key AS property, row.value AS value,
      coalesce(toStringOrNull(n.id), toStringOrNull(n.ruleId), toStringOrNull(n.key), row.node) AS id,
      toStringOrNull(CASE WHEN n:WorkflowRun THEN n.id ELSE n.runId END) AS runId
  UNION ALL
    UNWIND $came AS row
    MATCH (n) WHERE elementId(n) = row.node
    RETURN 'created' AS kind, row.label AS label, null AS property, null AS value,
      coalesce(toStringOrNull(n.id), toStringOrNull(n.ruleId), toStringOrNull(n.key), row.node) AS id,
      toStringOrNull(CASE WHEN n:WorkflowRun THEN n.id ELSE n.runId END) AS runId
  UNION ALL
    UNWIND $gone AS row
    OPTIONAL MATCH (n) WHERE elementId(n) = row.node
    WITH row, toStringOrNull(coalesce(n.id, $old[row.node + '.id'])) AS id,
      toStringOrNull(coalesce(n.ruleId, $old[row.node + '.ruleId'])) AS ruleId,
      toStringOrNull(coalesce(n.key, $old[row.node + '.key'])) AS key,
      toStringOrNull(coalesce(n.runId, $old[row.node + '.runId'])) AS runId
    RETURN 'deleted' AS kind, row.label AS label, null AS property, null AS value,
      coalesce(id, ruleId, key, row.node) AS id,
      CASE row.label WHEN 'WorkflowRun' THEN id ELSE runId END AS runId
  UNION ALL
    UNWIND $related AS r
    RETURN 'created' AS kind, type(r) AS label, null AS property, null AS value,
      coalesce(toStringOrNull(r.id), toStringOrNull(r.key), elementId(r)) AS id, null AS runId
  UNION ALL
    UNWIND $unrelated AS row
    RETURN 'deleted' AS kind, row.type AS label, null AS property, null AS value,
      coalesce(toStringOrNull($old[row.id + '.id']), toStringOrNull($old[row.id + '.key']), row.id)
        AS id, null AS runId
  }
  WITH collect({kind: kind, label: label, property: property, value: value, id: id,
    runId: runId}) AS changes
  WHERE size(changes) > 0
  MERGE (counter:OutboxCounter {id: 'changes'})
  // Writers wait here for each other until their commit, so that `seq` is the order of the commits.
  SET counter.lock = true, counter.types = $types
  WITH changes, counter, coalesce(counter.seq, 0) AS last
  SET counter.seq = last + size(changes)
  WITH changes, last
  UNWIND range(1, size(changes)) AS number
  CREATE (change:Outbox)
  SET change = changes[number - 1], change.seq = last + number, change.at = datetime.realtime()
", {
  types: $types,
  changed: reduce(found = [], key IN keys($properties) |
    found + [each IN coalesce($assignedNodeProperties[key], [])
               + coalesce($removedNodeProperties[key], [])
             WHERE each.old IS NULL OR each.new IS NULL OR each.old <> each.new
             | {key: key, labels: $properties[key], node: elementId(each.node),
                value: apoc.convert.toJson(each.new)}]),
  came: reduce(found = [], label IN $labels |
    found + [each IN coalesce($assignedLabels[label], []) | {label: label, node: elementId(each)}]),
  gone: reduce(found = [], label IN $labels |
    found + [each IN coalesce($removedLabels[label], []) | {label: label, node: elementId(each)}]),
  related: [each IN $createdRelationships WHERE type(each) IN $types],
  unrelated: [each IN $deletedRelationships WHERE type(each) IN $types
              | {type: type(each), id: elementId(each)}],
  // What is deleted has no properties any more.
  old: apoc.map.fromPairs(reduce(found = [], key IN ['id', 'ruleId', 'key', 'runId'] |
    found + [each IN coalesce($removedNodeProperties[key], [])
             | [elementId(each.node) + '.' + key, each.old]]
    + [each IN coalesce($removedRelationshipProperties[key], [])
       | [elementId(each.relationship) + '.' + key, each.old]]))
}) YIELD value
RETURN value
