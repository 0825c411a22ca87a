"""The toolkit for coding agents: tools over the Model Context Protocol, as `svctoolkit mcp` serves them.

    tool                                     a tool and the project that it works in
    destinations, events, suites, replays    the tools, one module for each group
    tools                                    all of them by name
    worker                                   runs them in a process that ends with its time
    server                                   serves them; the only module that needs the package `mcp`
    guide                                    `AGENTS.md` of a project

Tools return JSON values or text, without secrets. They work in delivery mode `record`: nothing leaves the machine.
"""
