"""How long kernels take that run at the same time, by the rule of optimizer/cost/simulator.h.

Two kernels of 10 and 4 us, each of which takes 0.75 of the device: together they want 1.5 of it, so
both run at two thirds of their speed until the second has ended, at 6 us. Then 4 of the 10 us are
done, and the first takes 6 us more: 12 in all, where one behind the other takes 14.
"""


def makespan_us(kernels):
    """From the start of all to the end of the last; each is (microseconds alone, its shares).

    A share of each resource, such as compute and bandwidth, in one order for all kernels.
    """
    left = [(us, shares) for us, shares in kernels if us > 0]
    now_us = 0
    while left:
        wanted = [sum(of_one) for of_one in zip(*(shares for _, shares in left))]
        pace = 1 / max([1, *wanted])
        step_us = min(us for us, _ in left)
        now_us += step_us / pace
        left = [(us - step_us, shares) for us, shares in left if us > step_us]
    return now_us
