"""The runtimes in which graphfix runs models, each behind the interface of `graphfix.runtimes.session`."""
