"""Many models, each apart: what one of them does to its process ends no other, and what was made is not made again."""
