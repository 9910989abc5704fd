"""The one path of a call: admitted, run, answered page by page, ended by its deadline."""
