"""What makes the models of models/exported and models/deployed; nothing else imports it."""
