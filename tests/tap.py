"""TAP output for the check scripts: a plan, one line a result, exit status 1 on a failure."""

import sys


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def check(self, name, problems):
        """One test: passes when the list of problems is empty; each is a line of diagnosis."""
        self.count += 1
        self.failed += bool(problems)
        print(f"{'not ' if problems else ''}ok {self.count} - {name}")
        for problem in problems:
            print(f"# {problem}")

    def skip(self, name, why):
        self.count += 1
        print(f"ok {self.count} - {name} # SKIP {why}")

    def end(self):
        print(f"1..{self.count}")
        sys.exit(1 if self.failed else 0)
