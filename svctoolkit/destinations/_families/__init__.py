"""What the types of one family share: forms of requests, look-ups, what answers mean. One module a family."""
