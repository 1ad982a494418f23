"""Other people's simulators, as `bench logs` plays them: what they read, and what they do."""
