MATCH (from:Page)-[:LINKS_TO]->(to:Page)
WITH collect([elementId(from), elementId(to)]) AS links
CALL ranking.pageRank(links) YIELD nodeId, score
MATCH (page:Page) WHERE elementId(page) = nodeId
RETURN page.title AS title, round(score, 3) AS score
ORDER BY score DESC, title
LIMIT 10
