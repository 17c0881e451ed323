import threading

from napari_roteq._parts.newest import Newest


def test_requests_in_between_are_dropped(qtbot, qapp):
    gate = threading.Event()

    def square(number):
        gate.wait(10)
        return number * number

    answers = []
    newest = Newest(square, qapp)
    newest.ready.connect(lambda asked, result: answers.append((*asked, result)))
    for number in (1, 2, 3, 4):
        newest.ask(number)
    gate.set()
    qtbot.waitUntil(lambda: not newest.is_busy, timeout=20_000)
    assert answers == [(1, 1), (4, 16)]
