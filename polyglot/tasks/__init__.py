"""Language pairs, tasks, sharing groups, schedules, batches and their transfers to a device."""
