"""The one place that talks to a model server: any that takes OpenAI's requests, through the `openai` package."""

from kgsparql.models.openai_client.client import DEFAULT_BASE_URL, OpenAIClient

__all__ = ["DEFAULT_BASE_URL", "OpenAIClient"]
