"""A site for agents: the tools, the resource and the prompt of `compilewatch mcp`.

Needs the extra `mcp`. Each tool asks the site's API with the token that the client was given; it
can do what the token can, and nothing else.
"""
