"""Everything that an event causes is bounded in time: these tests compare sizes, never seconds."""
