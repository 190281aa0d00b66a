"""The client: a connection to a server with the verbs and types of a session.

Trust: public.
"""
