"""How other systems' matrix products are read; no peer is needed."""
import importlib.util
import pathlib
import unittest

PATH = pathlib.Path(__file__).resolve().parents[2] / "bench/protocol/products.py"
spec = importlib.util.spec_from_file_location("products", PATH)
products = importlib.util.module_from_spec(spec)
spec.loader.exec_module(products)

LINES = """Backend 1/2: Vulkan0
  MUL_MAT(type_a=f16,type_b=f32,m=4096,n=8,k=14336,bs=[1,1],nr=[1,1],per=[0,1,2,3]):  107 runs -  9383.17 us/run - 939.52 MFLOP/run - 100.13 GFLOPS
  MUL_MAT(type_a=f32,type_b=f32,m=4096,n=512,k=14336,bs=[1,1],nr=[1,1],per=[0,1,2,3]):  6 runs - 9000.00 us/run - 60.13 GFLOP/run -   6.68 TFLOPS
  MUL_MAT(type_a=q4_0,type_b=f32,m=4096,n=1,k=14336,bs=[1,1],nr=[1,1],per=[0,1,2,3]):  852 runs - 1175.00 us/run - 117.44 MFLOP/run -  99.95 GFLOPS
"""


class Products(unittest.TestCase):
    def test_names(self):
        self.assertEqual(products.parse("8x4096x14336_f16"), (8, 4096, 14336, "f16"))

    def test_lines_of_llama(self):
        wanted = ["8x4096x14336_f16", "512x4096x14336_f32", "1x4096x14336_f32"]
        self.assertEqual(products.read_llama(LINES, wanted), {"8x4096x14336_f16": 100.13, "512x4096x14336_f32": 6680.0})

    def test_a_rate_is_of_the_best_burst(self):
        done = []
        products.LEAST_SECONDS = 0.001
        rate = products.rate(lambda: done.append(1), lambda: None, 1e3)
        self.assertGreater(rate, 0)
        self.assertGreater(len(done), products.ROUNDS)


if __name__ == "__main__":
    unittest.main(verbosity=2)
