"""Differential privacy: one file a mechanism, with its promise and its account; users reach them as ``shoal.dp``.

Noise comes from OpenDP (``opendp_library``) and from nowhere else; promises are in ``guarantee``, sums of spends in
``accountant``. Mechanisms work on whole numbers, the cells of a public grid (``domain``); ``release`` takes a table to
a table, ``audit`` attacks any of them.
"""
