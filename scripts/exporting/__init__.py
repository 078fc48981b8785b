"""What the development-only scripts need that export models; nothing else imports it."""
