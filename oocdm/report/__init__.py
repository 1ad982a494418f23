"""What a person looks at: pictures, tables and progress."""
