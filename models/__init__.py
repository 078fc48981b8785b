"""The models of the repository; models.builders builds them. A package, so that no other `models` stands before it."""
