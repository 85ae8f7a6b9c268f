#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The Python package feeds and takes arrays in the memory of a device."""
import ctypes
import os
import unittest

import sanitized
import tap

sanitized.restart()

import numpy  # noqa: E402 pylint: disable=wrong-import-position

import cornerturn  # noqa: E402 pylint: disable=wrong-import-position

GRAPH = """
    stages:
      x: { stage: input, layout: "ci8[time station]", shape: [-1, 3], loses: [station], backend: cuda }
      g: { stage: gains, from: x, gain: 2, backend: cuda }
      y: { stage: output, from: g, layout: "cf32[time station]", backend: cuda }
    """


class Driver:
    """The functions of the CUDA driver that the test calls."""

    def __init__(self):
        given = os.environ.get("CORNERTURN_CUDA")
        self.library = ctypes.CDLL("libcuda.so.1" if given in (None, "", "on") else given)
        context = ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        if result != 0:
            raise OSError(f"{name}: {result}")


class DeviceArray:
    """A copy of an array in the memory of a device."""

    def __init__(self, driver, array, strides=None):
        self.driver, self.address = driver, ctypes.c_uint64()
        driver.call("cuMemAlloc_v2", ctypes.byref(self.address), ctypes.c_size_t(array.nbytes))
        driver.call("cuMemcpyHtoD_v2", self.address, ctypes.c_void_p(array.ctypes.data),
                    ctypes.c_size_t(array.nbytes))
        self.__cuda_array_interface__ = {"version": 3, "shape": array.shape, "typestr": array.dtype.str,
                                         "data": (self.address.value, False), "strides": strides}


def fetch(driver, block):
    """A block's elements, which are contiguous, in the memory of the host."""
    interface = block.__cuda_array_interface__
    array = numpy.empty(interface["shape"], interface["typestr"])
    assert interface["strides"] == array.strides
    driver.call("cuMemcpyDtoH_v2", ctypes.c_void_p(array.ctypes.data),
                ctypes.c_uint64(interface["data"][0]), ctypes.c_size_t(array.nbytes))
    return array


@unittest.skipUnless("\ncuda:0" in cornerturn.inspect(), "there is no device")
class Device(unittest.TestCase):
    def setUp(self):
        self.driver = Driver()

    def test_arrays_stay_there(self):
        numbers = numpy.random.default_rng(3).integers(-128, 128, (5, 40, 3, 2), numpy.int8)
        with cornerturn.Pipeline(GRAPH, workers=1) as pipeline:
            pipeline.start()
            got = []
            for block in numbers:
                pipeline.feed("x", DeviceArray(self.driver, block))
            pipeline.feed_end("x")
            for block in pipeline.take("y"):
                self.assertEqual(block.__dlpack_device__(), (2, 0))
                got.append(fetch(self.driver, block))
                with self.assertRaisesRegex(cornerturn.DeviceError, "which NumPy can't read"):
                    block.array  # pylint: disable=pointless-statement
            pipeline.wait()
        wanted = 2 * cornerturn.to_complex(numbers.reshape(200, 3, 2), "ci8")
        numpy.testing.assert_array_equal(numpy.concatenate(got), wanted)

    def test_refused(self):
        zeros = numpy.zeros((5, 3, 2), numpy.int8)
        with cornerturn.Pipeline(GRAPH, workers=1) as pipeline:
            pipeline.start()
            for array, message in [
                    (zeros, "wants an array in the memory of cuda:0, but is given ndarray"),
                    (DeviceArray(self.driver, zeros.astype("i2")), "elements int8 for ci8, but is given int16"),
                    (DeviceArray(self.driver, zeros, (1, 10, 2)), "contiguous in C order, but is given strides")]:
                with self.assertRaisesRegex(cornerturn.ParameterError, message):
                    pipeline.feed("x", array)
            pipeline.feed_end("x")
            self.assertFalse(pipeline.take("y"))
            pipeline.wait()


if __name__ == "__main__":
    tap.main()
