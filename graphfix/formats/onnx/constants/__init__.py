"""Facts that constants decide: the elements that nodes compute from them, bounds of integers, trips of loops.

`view.Views` asks these modules when a rewrite reads such a fact. numpy is imported only then.
"""
