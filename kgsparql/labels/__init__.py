"""Finding entities by name: labels read from a graph and indexed, or looked up where they are too many.

``rows`` makes labels comparable, ``search`` is what a linker asks. Labels are in memory (``search``), in LanceDB
(``tables`` and ``vectors``, made by ``building``), or at an endpoint (``endpoint``, ``slices`` and ``kept``). What fits
a graph is chosen by ``index``.
"""
