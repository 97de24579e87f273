"""ONNX export of a run directory to a folder that translates without torch.

graph, cells               a builder of ONNX graphs, and recurrent layers built with it
encoder, decoder           the two graphs of a model
shortlist                  likely target tokens of each source token, and whether they pay
folder                     the exported folder, its model card, and the runtime as one file
opening                    telling exported folders from run directories
"""
