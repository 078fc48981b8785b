"""The rewrites that change how a broadcast is written. Each target runs some of them."""
