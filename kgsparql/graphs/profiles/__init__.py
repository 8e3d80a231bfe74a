"""What is known of SPARQL engines and public services: how each is to be asked."""

from kgsparql.graphs.profiles.profile import (
    SHARED,
    UNKNOWN,
    EndpointProfile,
    Meaning,
    StatusMeaning,
    TextSearch,
    WithProfile,
    profile_of,
)

__all__ = [
    "SHARED",
    "UNKNOWN",
    "EndpointProfile",
    "Meaning",
    "StatusMeaning",
    "TextSearch",
    "WithProfile",
    "profile_of",
]
