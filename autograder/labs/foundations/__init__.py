"""What each part of foundations is judged on."""
