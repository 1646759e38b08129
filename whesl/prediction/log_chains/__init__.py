"""Log chains: sequences of message templates after which a node fails, as in Desh and Aarohi.

Sources: Das, Mueller, Siegel, Vishnu, Desh: Deep Learning for System Health Prediction of Lead Times to
Failure in HPC, HPDC 2018; Das, Mueller, Rountree, Aarohi: Making Real-Time Node Failure Prediction Feasible,
IPDPS 2020.
"""
