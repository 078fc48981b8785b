"""graphfix inside other tools: each module follows the conventions of one library, and imports it."""
