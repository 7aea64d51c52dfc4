"""Lab distributed: several processes that train as one."""
