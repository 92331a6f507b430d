"""Tells whether the machine is as fast as usual at the moment, by plait's yardsticks."""

import time

import participants
import rounds
from participants import ParticipantFailure

# So many are read before the first turn, so far apart that one disturbance is not in all of them.
FIRST_READINGS, BETWEEN_SECONDS = 12, 0.2


class MachineWatch:
    """Reads the yardsticks beside turns. Where nothing reads them, no turn is disturbed."""

    def __init__(self):
        self.yardstick = None
        self.readings = []

    def start(self, arguments, stack):
        """Has a process read them until the stack is left; what was usual is remembered."""
        try:
            self.yardstick = stack.enter_context(participants.yardstick(arguments))
        except ParticipantFailure:
            self.yardstick = None
        while self.yardstick and len(self.readings) < FIRST_READINGS:
            self._read()
            time.sleep(BETWEEN_SECONDS)

    def take(self, turn, pause_seconds, tries=rounds.TURN_TRIES):
        """Calls `turn` after a pause, and again where the machine was disturbed, so often at most.

        Returns what the last call did, and what disturbed those before; of as many disturbances as
        tries the last was in the turn that is returned.
        """
        taken, disturbances = None, []
        while len(disturbances) < tries:
            time.sleep(pause_seconds)
            disturbed = self._disturbance(rounds.QUIET_WAIT_SECONDS)
            # Of a turn that does not count no more is wanted than that it has numbers.
            if not disturbed or len(disturbances) + 1 == tries:
                taken = turn()
                disturbed = disturbed or self._disturbance(wait_seconds=0)
            if not disturbed:
                break
            disturbances.append(disturbed)
        return taken, disturbances

    def _disturbance(self, wait_seconds):
        """What disturbs the machine, or None as soon as nothing does; waits so long for it."""
        deadline = time.monotonic() + wait_seconds
        while True:
            disturbed = rounds.disturbance(self._read(), rounds.usual(self.readings))
            if not disturbed or time.monotonic() >= deadline:
                return disturbed
            time.sleep(BETWEEN_SECONDS)

    def _read(self):
        reading = rounds.Reading()
        try:
            if self.yardstick:
                answer = self.yardstick.ask({"command": "yardsticks"}, *vars(reading))
                reading = rounds.Reading(**answer)
        except ParticipantFailure:
            self.yardstick = None
        self.readings.append(reading)
        return reading
