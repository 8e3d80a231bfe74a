"""The one place that talks to a model server: any that takes OpenAI's requests, through the `openai` package."""
