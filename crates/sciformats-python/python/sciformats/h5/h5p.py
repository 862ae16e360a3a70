"""Numbers of the low-level property lists."""

#: The order of creation is kept.
CRT_ORDER_TRACKED = 1
#: There is an index by the order of creation.
CRT_ORDER_INDEXED = 2
