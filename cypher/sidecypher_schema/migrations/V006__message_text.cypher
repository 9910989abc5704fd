// What messages say is indexed a moment after a commit, not within it: to write a message took as
// long again otherwise.

DROP INDEX message_text IF EXISTS;

CREATE FULLTEXT INDEX message_text IF NOT EXISTS FOR (n:Message) ON EACH [n.content]
OPTIONS {indexConfig: {`fulltext.eventually_consistent`: true}};
