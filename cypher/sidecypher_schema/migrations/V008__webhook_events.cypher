// Deliveries about an issue or pull request, to find the run that one of them has begun.

CREATE INDEX github_webhook_event_number IF NOT EXISTS
FOR (n:GithubWebhookEvent) ON (n.repositoryId, n.number);
