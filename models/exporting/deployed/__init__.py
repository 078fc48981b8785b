"""The files of models/deployed as optimizers, quantizers and model builders make them."""
