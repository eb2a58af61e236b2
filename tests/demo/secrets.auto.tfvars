# A real project would keep this file out of version control.
operator_token = "not-a-real-token"
