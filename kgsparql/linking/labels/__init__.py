"""Finding entities by name: labels read from a graph and indexed, or looked up where they are too many.

- What a label is: ``rows``. What in a question may be one: ``spellings``. How well the two fit: ``matching``.
- Read: of a graph every label (``scanning``), of an endpoint every one or an error that says why not (``reading``),
  page by page those of some classes (``slices``), those of some entities or with some name (``names``).
- Searched: ``search`` is what a linker asks, and its form in memory; ``tables`` and ``vectors`` are that in LanceDB,
  made by ``building``; ``endpoint`` asks an endpoint for each question, and what it finds is searched in ``found``;
  ``joining`` makes one of several.
- Kept beside indexes: ``kept``, what was read or seen of an endpoint.
- Chosen for a graph: ``index``; for an endpoint with too many labels, ``partial``; for one that is down,
  ``last_known``.
"""
