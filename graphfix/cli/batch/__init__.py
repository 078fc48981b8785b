"""`batch`: many models, here or on a cluster; what is printed of them."""
