// A small graph of real repositories, issues and pull requests: what never changes of them, as the
// `github` procedures expect it. Taken from the recordings in the npm packages
// @octokit/webhooks-examples 7.6.1 and @octokit/fixtures 23.1.2 (recordings/package-lock.json).
// The repository whose name starts with `tmp-scenario` was deleted after it had been recorded, and
// octo-org/octo-repo was private: live, GitHub gives 404 for both, hence no row.

UNWIND [
  {login: 'Codertocat', id: '21031067'},
  {login: 'electron', id: '13409222'},
  {login: 'octo-org', id: '67584941'},
  {login: 'octocat', id: '583231'},
  {login: 'octokit-fixture-org', id: '31898100'},
  {login: 'octokit-fixture-user-a', id: '31898046'}
] AS user
MERGE (u:User {id: user.id})
  ON CREATE SET u.login = user.login;

UNWIND [
  {owner: 'Codertocat', name: 'Hello-World', id: '186853002',
   createdAt: '2019-05-15T15:19:25Z', eventAt: '2019-05-15T15:21:14Z'},
  {owner: 'electron', name: 'electron', id: '9384267',
   createdAt: '2013-04-12T01:47:36Z', eventAt: '2020-12-03T19:29:46Z'},
  {owner: 'octo-org', name: 'octo-repo', id: '280886604',
   createdAt: '2020-07-19T14:48:35Z', eventAt: '2022-03-11T11:56:22Z'},
  {owner: 'octokit-fixture-org', name: 'hello-world', id: '103703892',
   createdAt: '2017-09-15T21:43:08Z', eventAt: '2017-09-19T15:57:54Z'},
  {owner: 'octokit-fixture-org',
   name: 'tmp-scenario-paginate-issues-20220719043836917-izyoe', id: '515435940',
   createdAt: '2022-07-19T04:38:37Z', eventAt: '2022-07-19T04:38:37Z'}
] AS repository
MERGE (r:Repository {id: repository.id})
  ON CREATE SET r.owner = repository.owner, r.name = repository.name,
    r.fullNameKey = toLower(repository.owner + '/' + repository.name),
    r.createdAt = datetime(repository.createdAt), r.eventAt = datetime(repository.eventAt)
WITH r, repository
MATCH (o:User {login: repository.owner})
MERGE (r)-[:OWNED_BY]->(o);

UNWIND [
  {repository: '186853002', id: '444500041', number: 1,
   createdAt: '2019-05-15T15:20:18Z', author: 'Codertocat'},
  {repository: '515435940', id: '1308968677', number: 1,
   createdAt: '2022-07-19T04:38:40Z', author: 'octokit-fixture-user-a'},
  {repository: '515435940', id: '1308968698', number: 2,
   createdAt: '2022-07-19T04:38:43Z', author: 'octokit-fixture-user-a'},
  {repository: '515435940', id: '1308968735', number: 3,
   createdAt: '2022-07-19T04:38:46Z', author: 'octokit-fixture-user-a'}
] AS issue
MATCH (r:Repository {id: issue.repository})
MERGE (i:Issue {id: issue.id})
  ON CREATE SET i.number = issue.number, i.createdAt = datetime(issue.createdAt),
    i.repositoryId = issue.repository
WITH i, r, issue
MATCH (u:User {login: issue.author})
MERGE (i)-[:BELONGS_TO]->(r)
MERGE (r)-[:HAS_ISSUES]->(i)
MERGE (i)-[:CREATED_BY]->(u);

UNWIND [
  {repository: '186853002', id: '279147437', number: 2,
   createdAt: '2019-05-15T15:20:33Z', author: 'Codertocat'},
  {repository: '280886604', id: '873298238', number: 118,
   createdAt: '2022-03-07T16:14:34Z', author: 'octocat'}
] AS pull
MATCH (r:Repository {id: pull.repository})
MERGE (p:PullRequest {id: pull.id})
  ON CREATE SET p.number = pull.number, p.createdAt = datetime(pull.createdAt),
    p.repositoryId = pull.repository
WITH p, r, pull
MATCH (u:User {login: pull.author})
MERGE (p)-[:BELONGS_TO]->(r)
MERGE (r)-[:HAS_PRS]->(p)
MERGE (p)-[:CREATED_BY]->(u);
