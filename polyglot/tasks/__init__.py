"""Language pairs, tasks, sharing groups, schedules and batches."""
