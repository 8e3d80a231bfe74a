"""What is known of SPARQL engines and public services: how each is to be asked."""

from kgsparql.graphs.profiles.profile import (
    ALIAS,
    SHARED,
    UNKNOWN,
    EndpointProfile,
    Meaning,
    StatusMeaning,
    TextSearch,
    WithProfile,
    could_be_alias,
    profile_of,
)

__all__ = [
    "ALIAS",
    "SHARED",
    "UNKNOWN",
    "EndpointProfile",
    "Meaning",
    "StatusMeaning",
    "TextSearch",
    "WithProfile",
    "could_be_alias",
    "profile_of",
]
