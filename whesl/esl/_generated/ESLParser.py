# encoding: utf-8
from antlr4 import *
from io import StringIO
import sys
if sys.version_info[1] > 5:
	from typing import TextIO
else:
	from typing.io import TextIO

def serializedATN():
    return [
        4,1,62,423,2,0,7,0,2,1,7,1,2,2,7,2,2,3,7,3,2,4,7,4,2,5,7,5,2,6,7,
        6,2,7,7,7,2,8,7,8,2,9,7,9,2,10,7,10,2,11,7,11,2,12,7,12,2,13,7,13,
        2,14,7,14,2,15,7,15,2,16,7,16,2,17,7,17,2,18,7,18,2,19,7,19,2,20,
        7,20,2,21,7,21,2,22,7,22,2,23,7,23,2,24,7,24,2,25,7,25,2,26,7,26,
        2,27,7,27,1,0,5,0,58,8,0,10,0,12,0,61,9,0,1,0,5,0,64,8,0,10,0,12,
        0,67,9,0,1,0,1,0,1,1,1,1,4,1,73,8,1,11,1,12,1,74,1,1,3,1,78,8,1,
        1,2,1,2,1,2,1,2,1,2,1,2,1,2,3,2,87,8,2,3,2,89,8,2,1,3,1,3,1,3,1,
        3,5,3,95,8,3,10,3,12,3,98,9,3,1,3,1,3,1,3,1,3,5,3,104,8,3,10,3,12,
        3,107,9,3,1,3,1,3,1,3,1,3,5,3,113,8,3,10,3,12,3,116,9,3,1,3,1,3,
        5,3,120,8,3,10,3,12,3,123,9,3,1,3,1,3,5,3,127,8,3,10,3,12,3,130,
        9,3,1,3,1,3,5,3,134,8,3,10,3,12,3,137,9,3,5,3,139,8,3,10,3,12,3,
        142,9,3,1,3,1,3,1,3,1,3,1,3,1,3,1,3,1,3,5,3,152,8,3,10,3,12,3,155,
        9,3,1,3,1,3,5,3,159,8,3,10,3,12,3,162,9,3,1,3,1,3,5,3,166,8,3,10,
        3,12,3,169,9,3,1,3,1,3,5,3,173,8,3,10,3,12,3,176,9,3,5,3,178,8,3,
        10,3,12,3,181,9,3,1,3,1,3,5,3,185,8,3,10,3,12,3,188,9,3,3,3,190,
        8,3,1,4,1,4,1,4,1,4,1,4,1,4,1,4,1,4,1,4,1,4,1,4,1,4,3,4,204,8,4,
        3,4,206,8,4,1,5,1,5,1,6,1,6,1,7,1,7,1,8,1,8,1,9,1,9,1,10,1,10,1,
        10,3,10,221,8,10,1,11,1,11,4,11,225,8,11,11,11,12,11,226,3,11,229,
        8,11,1,12,1,12,1,13,1,13,1,13,3,13,236,8,13,1,13,1,13,1,13,1,13,
        1,13,1,13,1,13,3,13,245,8,13,3,13,247,8,13,1,13,1,13,1,13,3,13,252,
        8,13,3,13,254,8,13,1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,
        3,14,265,8,14,1,14,1,14,1,14,1,14,3,14,271,8,14,1,14,1,14,1,14,1,
        14,3,14,277,8,14,1,14,1,14,1,14,1,14,3,14,283,8,14,1,14,1,14,1,14,
        1,14,1,14,1,14,1,14,1,14,1,14,1,14,5,14,295,8,14,10,14,12,14,298,
        9,14,1,14,1,14,1,14,1,14,5,14,304,8,14,10,14,12,14,307,9,14,3,14,
        309,8,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,1,14,
        1,14,1,14,3,14,324,8,14,1,14,1,14,1,14,1,14,3,14,330,8,14,3,14,332,
        8,14,1,15,1,15,1,15,1,16,1,16,5,16,339,8,16,10,16,12,16,342,9,16,
        1,16,1,16,5,16,346,8,16,10,16,12,16,349,9,16,1,16,1,16,5,16,353,
        8,16,10,16,12,16,356,9,16,1,16,1,16,5,16,360,8,16,10,16,12,16,363,
        9,16,5,16,365,8,16,10,16,12,16,368,9,16,1,16,1,16,1,17,3,17,373,
        8,17,1,17,1,17,1,18,1,18,1,18,1,18,1,18,3,18,382,8,18,1,19,1,19,
        1,19,3,19,387,8,19,1,20,1,20,1,20,1,21,1,21,1,21,1,21,3,21,396,8,
        21,1,22,1,22,1,22,3,22,401,8,22,1,23,1,23,1,23,1,24,1,24,1,25,3,
        25,409,8,25,1,25,1,25,1,26,3,26,414,8,26,1,26,1,26,1,27,3,27,419,
        8,27,1,27,1,27,1,27,0,0,28,0,2,4,6,8,10,12,14,16,18,20,22,24,26,
        28,30,32,34,36,38,40,42,44,46,48,50,52,54,0,6,3,0,48,52,57,58,62,
        62,1,0,1,46,1,0,23,24,1,0,25,27,1,0,13,14,1,0,46,47,466,0,59,1,0,
        0,0,2,70,1,0,0,0,4,88,1,0,0,0,6,189,1,0,0,0,8,205,1,0,0,0,10,207,
        1,0,0,0,12,209,1,0,0,0,14,211,1,0,0,0,16,213,1,0,0,0,18,215,1,0,
        0,0,20,217,1,0,0,0,22,228,1,0,0,0,24,230,1,0,0,0,26,253,1,0,0,0,
        28,331,1,0,0,0,30,333,1,0,0,0,32,336,1,0,0,0,34,372,1,0,0,0,36,381,
        1,0,0,0,38,383,1,0,0,0,40,388,1,0,0,0,42,391,1,0,0,0,44,397,1,0,
        0,0,46,402,1,0,0,0,48,405,1,0,0,0,50,408,1,0,0,0,52,413,1,0,0,0,
        54,418,1,0,0,0,56,58,5,58,0,0,57,56,1,0,0,0,58,61,1,0,0,0,59,57,
        1,0,0,0,59,60,1,0,0,0,60,65,1,0,0,0,61,59,1,0,0,0,62,64,3,2,1,0,
        63,62,1,0,0,0,64,67,1,0,0,0,65,63,1,0,0,0,65,66,1,0,0,0,66,68,1,
        0,0,0,67,65,1,0,0,0,68,69,5,0,0,1,69,1,1,0,0,0,70,77,3,4,2,0,71,
        73,5,58,0,0,72,71,1,0,0,0,73,74,1,0,0,0,74,72,1,0,0,0,74,75,1,0,
        0,0,75,78,1,0,0,0,76,78,5,0,0,1,77,72,1,0,0,0,77,76,1,0,0,0,78,3,
        1,0,0,0,79,80,5,2,0,0,80,89,3,6,3,0,81,82,5,6,0,0,82,89,3,8,4,0,
        83,84,5,1,0,0,84,86,5,48,0,0,85,87,3,36,18,0,86,85,1,0,0,0,86,87,
        1,0,0,0,87,89,1,0,0,0,88,79,1,0,0,0,88,81,1,0,0,0,88,83,1,0,0,0,
        89,5,1,0,0,0,90,91,5,3,0,0,91,96,3,10,5,0,92,93,5,50,0,0,93,95,3,
        10,5,0,94,92,1,0,0,0,95,98,1,0,0,0,96,94,1,0,0,0,96,97,1,0,0,0,97,
        190,1,0,0,0,98,96,1,0,0,0,99,100,5,4,0,0,100,105,3,12,6,0,101,102,
        5,50,0,0,102,104,3,12,6,0,103,101,1,0,0,0,104,107,1,0,0,0,105,103,
        1,0,0,0,105,106,1,0,0,0,106,190,1,0,0,0,107,105,1,0,0,0,108,109,
        5,5,0,0,109,110,3,14,7,0,110,114,5,51,0,0,111,113,5,58,0,0,112,111,
        1,0,0,0,113,116,1,0,0,0,114,112,1,0,0,0,114,115,1,0,0,0,115,117,
        1,0,0,0,116,114,1,0,0,0,117,121,3,20,10,0,118,120,5,58,0,0,119,118,
        1,0,0,0,120,123,1,0,0,0,121,119,1,0,0,0,121,122,1,0,0,0,122,140,
        1,0,0,0,123,121,1,0,0,0,124,128,5,50,0,0,125,127,5,58,0,0,126,125,
        1,0,0,0,127,130,1,0,0,0,128,126,1,0,0,0,128,129,1,0,0,0,129,131,
        1,0,0,0,130,128,1,0,0,0,131,135,3,20,10,0,132,134,5,58,0,0,133,132,
        1,0,0,0,134,137,1,0,0,0,135,133,1,0,0,0,135,136,1,0,0,0,136,139,
        1,0,0,0,137,135,1,0,0,0,138,124,1,0,0,0,139,142,1,0,0,0,140,138,
        1,0,0,0,140,141,1,0,0,0,141,143,1,0,0,0,142,140,1,0,0,0,143,144,
        5,52,0,0,144,190,1,0,0,0,145,146,5,6,0,0,146,147,3,18,9,0,147,148,
        3,12,6,0,148,149,5,10,0,0,149,153,5,51,0,0,150,152,5,58,0,0,151,
        150,1,0,0,0,152,155,1,0,0,0,153,151,1,0,0,0,153,154,1,0,0,0,154,
        156,1,0,0,0,155,153,1,0,0,0,156,160,3,22,11,0,157,159,5,58,0,0,158,
        157,1,0,0,0,159,162,1,0,0,0,160,158,1,0,0,0,160,161,1,0,0,0,161,
        179,1,0,0,0,162,160,1,0,0,0,163,167,5,50,0,0,164,166,5,58,0,0,165,
        164,1,0,0,0,166,169,1,0,0,0,167,165,1,0,0,0,167,168,1,0,0,0,168,
        170,1,0,0,0,169,167,1,0,0,0,170,174,3,22,11,0,171,173,5,58,0,0,172,
        171,1,0,0,0,173,176,1,0,0,0,174,172,1,0,0,0,174,175,1,0,0,0,175,
        178,1,0,0,0,176,174,1,0,0,0,177,163,1,0,0,0,178,181,1,0,0,0,179,
        177,1,0,0,0,179,180,1,0,0,0,180,182,1,0,0,0,181,179,1,0,0,0,182,
        186,5,52,0,0,183,185,3,26,13,0,184,183,1,0,0,0,185,188,1,0,0,0,186,
        184,1,0,0,0,186,187,1,0,0,0,187,190,1,0,0,0,188,186,1,0,0,0,189,
        90,1,0,0,0,189,99,1,0,0,0,189,108,1,0,0,0,189,145,1,0,0,0,190,7,
        1,0,0,0,191,192,5,7,0,0,192,193,3,18,9,0,193,194,3,28,14,0,194,206,
        1,0,0,0,195,196,5,8,0,0,196,197,5,9,0,0,197,198,3,18,9,0,198,199,
        3,10,5,0,199,200,3,14,7,0,200,201,5,53,0,0,201,203,3,16,8,0,202,
        204,5,49,0,0,203,202,1,0,0,0,203,204,1,0,0,0,204,206,1,0,0,0,205,
        191,1,0,0,0,205,195,1,0,0,0,206,9,1,0,0,0,207,208,3,24,12,0,208,
        11,1,0,0,0,209,210,3,24,12,0,210,13,1,0,0,0,211,212,3,24,12,0,212,
        15,1,0,0,0,213,214,3,24,12,0,214,17,1,0,0,0,215,216,3,24,12,0,216,
        19,1,0,0,0,217,220,3,16,8,0,218,219,5,12,0,0,219,221,5,48,0,0,220,
        218,1,0,0,0,220,221,1,0,0,0,221,21,1,0,0,0,222,229,5,48,0,0,223,
        225,8,0,0,0,224,223,1,0,0,0,225,226,1,0,0,0,226,224,1,0,0,0,226,
        227,1,0,0,0,227,229,1,0,0,0,228,222,1,0,0,0,228,224,1,0,0,0,229,
        23,1,0,0,0,230,231,7,1,0,0,231,25,1,0,0,0,232,233,5,34,0,0,233,235,
        3,50,25,0,234,236,3,40,20,0,235,234,1,0,0,0,235,236,1,0,0,0,236,
        254,1,0,0,0,237,238,5,35,0,0,238,254,3,52,26,0,239,246,5,36,0,0,
        240,247,5,37,0,0,241,247,5,38,0,0,242,244,5,39,0,0,243,245,3,18,
        9,0,244,243,1,0,0,0,244,245,1,0,0,0,245,247,1,0,0,0,246,240,1,0,
        0,0,246,241,1,0,0,0,246,242,1,0,0,0,247,254,1,0,0,0,248,249,5,40,
        0,0,249,251,5,48,0,0,250,252,3,46,23,0,251,250,1,0,0,0,251,252,1,
        0,0,0,252,254,1,0,0,0,253,232,1,0,0,0,253,237,1,0,0,0,253,239,1,
        0,0,0,253,248,1,0,0,0,254,27,1,0,0,0,255,256,5,17,0,0,256,257,3,
        30,15,0,257,258,3,36,18,0,258,259,3,42,21,0,259,332,1,0,0,0,260,
        261,3,30,15,0,261,264,3,36,18,0,262,265,3,38,19,0,263,265,3,42,21,
        0,264,262,1,0,0,0,264,263,1,0,0,0,264,265,1,0,0,0,265,332,1,0,0,
        0,266,267,5,15,0,0,267,268,3,32,16,0,268,270,3,36,18,0,269,271,3,
        40,20,0,270,269,1,0,0,0,270,271,1,0,0,0,271,332,1,0,0,0,272,273,
        5,16,0,0,273,274,3,32,16,0,274,276,3,36,18,0,275,277,3,38,19,0,276,
        275,1,0,0,0,276,277,1,0,0,0,277,332,1,0,0,0,278,279,5,18,0,0,279,
        332,3,42,21,0,280,282,5,19,0,0,281,283,5,14,0,0,282,281,1,0,0,0,
        282,283,1,0,0,0,283,284,1,0,0,0,284,285,5,48,0,0,285,286,3,36,18,
        0,286,287,3,42,21,0,287,332,1,0,0,0,288,308,5,20,0,0,289,309,5,16,
        0,0,290,291,5,21,0,0,291,296,3,44,22,0,292,293,5,50,0,0,293,295,
        3,44,22,0,294,292,1,0,0,0,295,298,1,0,0,0,296,294,1,0,0,0,296,297,
        1,0,0,0,297,309,1,0,0,0,298,296,1,0,0,0,299,300,5,22,0,0,300,305,
        3,48,24,0,301,302,5,50,0,0,302,304,3,48,24,0,303,301,1,0,0,0,304,
        307,1,0,0,0,305,303,1,0,0,0,305,306,1,0,0,0,306,309,1,0,0,0,307,
        305,1,0,0,0,308,289,1,0,0,0,308,290,1,0,0,0,308,299,1,0,0,0,309,
        332,1,0,0,0,310,311,5,11,0,0,311,332,7,2,0,0,312,313,7,3,0,0,313,
        314,5,48,0,0,314,315,5,28,0,0,315,316,3,54,27,0,316,317,5,57,0,0,
        317,332,1,0,0,0,318,319,5,6,0,0,319,320,3,18,9,0,320,321,3,50,25,
        0,321,323,5,30,0,0,322,324,3,40,20,0,323,322,1,0,0,0,323,324,1,0,
        0,0,324,332,1,0,0,0,325,326,5,10,0,0,326,327,5,6,0,0,327,329,5,48,
        0,0,328,330,3,46,23,0,329,328,1,0,0,0,329,330,1,0,0,0,330,332,1,
        0,0,0,331,255,1,0,0,0,331,260,1,0,0,0,331,266,1,0,0,0,331,272,1,
        0,0,0,331,278,1,0,0,0,331,280,1,0,0,0,331,288,1,0,0,0,331,310,1,
        0,0,0,331,312,1,0,0,0,331,318,1,0,0,0,331,325,1,0,0,0,332,29,1,0,
        0,0,333,334,7,4,0,0,334,335,5,48,0,0,335,31,1,0,0,0,336,340,5,51,
        0,0,337,339,5,58,0,0,338,337,1,0,0,0,339,342,1,0,0,0,340,338,1,0,
        0,0,340,341,1,0,0,0,341,343,1,0,0,0,342,340,1,0,0,0,343,347,3,34,
        17,0,344,346,5,58,0,0,345,344,1,0,0,0,346,349,1,0,0,0,347,345,1,
        0,0,0,347,348,1,0,0,0,348,366,1,0,0,0,349,347,1,0,0,0,350,354,5,
        50,0,0,351,353,5,58,0,0,352,351,1,0,0,0,353,356,1,0,0,0,354,352,
        1,0,0,0,354,355,1,0,0,0,355,357,1,0,0,0,356,354,1,0,0,0,357,361,
        3,34,17,0,358,360,5,58,0,0,359,358,1,0,0,0,360,363,1,0,0,0,361,359,
        1,0,0,0,361,362,1,0,0,0,362,365,1,0,0,0,363,361,1,0,0,0,364,350,
        1,0,0,0,365,368,1,0,0,0,366,364,1,0,0,0,366,367,1,0,0,0,367,369,
        1,0,0,0,368,366,1,0,0,0,369,370,5,52,0,0,370,33,1,0,0,0,371,373,
        7,4,0,0,372,371,1,0,0,0,372,373,1,0,0,0,373,374,1,0,0,0,374,375,
        5,48,0,0,375,35,1,0,0,0,376,382,5,42,0,0,377,382,5,43,0,0,378,382,
        5,44,0,0,379,380,5,45,0,0,380,382,5,48,0,0,381,376,1,0,0,0,381,377,
        1,0,0,0,381,378,1,0,0,0,381,379,1,0,0,0,382,37,1,0,0,0,383,384,5,
        29,0,0,384,386,3,50,25,0,385,387,3,40,20,0,386,385,1,0,0,0,386,387,
        1,0,0,0,387,39,1,0,0,0,388,389,5,31,0,0,389,390,3,52,26,0,390,41,
        1,0,0,0,391,392,5,32,0,0,392,395,3,52,26,0,393,394,5,33,0,0,394,
        396,3,52,26,0,395,393,1,0,0,0,395,396,1,0,0,0,396,43,1,0,0,0,397,
        400,5,47,0,0,398,399,5,54,0,0,399,401,5,47,0,0,400,398,1,0,0,0,400,
        401,1,0,0,0,401,45,1,0,0,0,402,403,5,41,0,0,403,404,3,50,25,0,404,
        47,1,0,0,0,405,406,7,5,0,0,406,49,1,0,0,0,407,409,5,54,0,0,408,407,
        1,0,0,0,408,409,1,0,0,0,409,410,1,0,0,0,410,411,5,47,0,0,411,51,
        1,0,0,0,412,414,5,54,0,0,413,412,1,0,0,0,413,414,1,0,0,0,414,415,
        1,0,0,0,415,416,5,47,0,0,416,53,1,0,0,0,417,419,5,54,0,0,418,417,
        1,0,0,0,418,419,1,0,0,0,419,420,1,0,0,0,420,421,5,47,0,0,421,55,
        1,0,0,0,53,59,65,74,77,86,88,96,105,114,121,128,135,140,153,160,
        167,174,179,186,189,203,205,220,226,228,235,244,246,251,253,264,
        270,276,282,296,305,308,323,329,331,340,347,354,361,366,372,381,
        386,395,400,408,413,418
    ]

class ESLParser ( Parser ):

    grammarFileName = "ESL.g4"

    atn = ATNDeserializer().deserialize(serializedATN())

    decisionsToDFA = [ DFA(ds, i) for i, ds in enumerate(atn.decisionToState) ]

    sharedContextCache = PredictionContextCache()

    literalNames = [ "<INVALID>", "'INCLUDE'", "'DECLARE'", "'ENTITY'", 
                     "'EXCEPTION_TYPE'", "'RESOURCE'", "'EXCEPTION'", "'DETECTION'", 
                     "'RECOVERY'", "'STEP'", "'JOB'", "'NODE'", "'HANDLER'", 
                     "'LOG'", "'MATCH'", "'MULTIPLE'", "'ANY'", "'HANG'", 
                     "'SILENCE'", "'PROGRESS'", "'EXIT'", "'CODE'", "'SIGNAL'", 
                     "'DOWN'", "'DRAINED'", "'DISK'", "'INODES'", "'QUOTA'", 
                     "'ABOVE'", "'RECURRING'", "'TIMES'", "'WITHIN'", "'TIMEOUT'", 
                     "'WARMUP'", "'LIMIT'", "'BACKOFF'", "'ELSE'", "'FAIL'", 
                     "'PAUSE'", "'ESCALATE'", "'RAISE'", "'SEVERITY'", "'stdout'", 
                     "'stderr'", "'output'", "'file'", "<INVALID>", "<INVALID>", 
                     "<INVALID>", "<INVALID>", "','", "'['", "']'", "'.'", 
                     "'-'", "'*'", "'?'", "'%'" ]

    symbolicNames = [ "<INVALID>", "INCLUDE", "DECLARE", "ENTITY", "EXCEPTION_TYPE", 
                      "RESOURCE", "EXCEPTION", "DETECTION", "RECOVERY", 
                      "STEP", "JOB", "NODE", "HANDLER", "LOG", "MATCH", 
                      "MULTIPLE", "ANY", "HANG", "SILENCE", "PROGRESS", 
                      "EXIT", "CODE", "SIGNAL", "DOWN", "DRAINED", "DISK", 
                      "INODES", "QUOTA", "ABOVE", "RECURRING", "TIMES", 
                      "WITHIN", "TIMEOUT", "WARMUP", "LIMIT", "BACKOFF", 
                      "ELSE", "FAIL", "PAUSE", "ESCALATE", "RAISE", "SEVERITY", 
                      "STDOUT", "STDERR", "OUTPUT", "FILE", "IDENTIFIER", 
                      "NUMBER", "STRING", "JSON_OBJECT", "COMMA", "OPEN", 
                      "CLOSE", "DOT", "DASH", "STAR", "QUESTION", "PERCENT", 
                      "NEWLINE", "CONTINUATION", "BLANK", "COMMENT", "INVALID" ]

    RULE_specification = 0
    RULE_line = 1
    RULE_statement = 2
    RULE_declaration = 3
    RULE_handling = 4
    RULE_entity = 5
    RULE_level = 6
    RULE_resource = 7
    RULE_operation = 8
    RULE_exceptionName = 9
    RULE_offer = 10
    RULE_job = 11
    RULE_word = 12
    RULE_clause = 13
    RULE_detection = 14
    RULE_pattern = 15
    RULE_patterns = 16
    RULE_listed = 17
    RULE_source = 18
    RULE_recurring = 19
    RULE_within = 20
    RULE_timer = 21
    RULE_codes = 22
    RULE_severity = 23
    RULE_signal = 24
    RULE_count = 25
    RULE_seconds = 26
    RULE_percent = 27

    ruleNames =  [ "specification", "line", "statement", "declaration", 
                   "handling", "entity", "level", "resource", "operation", 
                   "exceptionName", "offer", "job", "word", "clause", "detection", 
                   "pattern", "patterns", "listed", "source", "recurring", 
                   "within", "timer", "codes", "severity", "signal", "count", 
                   "seconds", "percent" ]

    EOF = Token.EOF
    INCLUDE=1
    DECLARE=2
    ENTITY=3
    EXCEPTION_TYPE=4
    RESOURCE=5
    EXCEPTION=6
    DETECTION=7
    RECOVERY=8
    STEP=9
    JOB=10
    NODE=11
    HANDLER=12
    LOG=13
    MATCH=14
    MULTIPLE=15
    ANY=16
    HANG=17
    SILENCE=18
    PROGRESS=19
    EXIT=20
    CODE=21
    SIGNAL=22
    DOWN=23
    DRAINED=24
    DISK=25
    INODES=26
    QUOTA=27
    ABOVE=28
    RECURRING=29
    TIMES=30
    WITHIN=31
    TIMEOUT=32
    WARMUP=33
    LIMIT=34
    BACKOFF=35
    ELSE=36
    FAIL=37
    PAUSE=38
    ESCALATE=39
    RAISE=40
    SEVERITY=41
    STDOUT=42
    STDERR=43
    OUTPUT=44
    FILE=45
    IDENTIFIER=46
    NUMBER=47
    STRING=48
    JSON_OBJECT=49
    COMMA=50
    OPEN=51
    CLOSE=52
    DOT=53
    DASH=54
    STAR=55
    QUESTION=56
    PERCENT=57
    NEWLINE=58
    CONTINUATION=59
    BLANK=60
    COMMENT=61
    INVALID=62

    def __init__(self, input:TokenStream, output:TextIO = sys.stdout):
        super().__init__(input, output)
        self.checkVersion("4.13.1")
        self._interp = ParserATNSimulator(self, self.atn, self.decisionsToDFA, self.sharedContextCache)
        self._predicates = None




    class SpecificationContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def EOF(self):
            return self.getToken(ESLParser.EOF, 0)

        def NEWLINE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NEWLINE)
            else:
                return self.getToken(ESLParser.NEWLINE, i)

        def line(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.LineContext)
            else:
                return self.getTypedRuleContext(ESLParser.LineContext,i)


        def getRuleIndex(self):
            return ESLParser.RULE_specification

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitSpecification" ):
                return visitor.visitSpecification(self)
            else:
                return visitor.visitChildren(self)




    def specification(self):

        localctx = ESLParser.SpecificationContext(self, self._ctx, self.state)
        self.enterRule(localctx, 0, self.RULE_specification)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 59
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==58:
                self.state = 56
                self.match(ESLParser.NEWLINE)
                self.state = 61
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 65
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while (((_la) & ~0x3f) == 0 and ((1 << _la) & 70) != 0):
                self.state = 62
                self.line()
                self.state = 67
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 68
            self.match(ESLParser.EOF)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class LineContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def statement(self):
            return self.getTypedRuleContext(ESLParser.StatementContext,0)


        def EOF(self):
            return self.getToken(ESLParser.EOF, 0)

        def NEWLINE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NEWLINE)
            else:
                return self.getToken(ESLParser.NEWLINE, i)

        def getRuleIndex(self):
            return ESLParser.RULE_line

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitLine" ):
                return visitor.visitLine(self)
            else:
                return visitor.visitChildren(self)




    def line(self):

        localctx = ESLParser.LineContext(self, self._ctx, self.state)
        self.enterRule(localctx, 2, self.RULE_line)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 70
            self.statement()
            self.state = 77
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [58]:
                self.state = 72 
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while True:
                    self.state = 71
                    self.match(ESLParser.NEWLINE)
                    self.state = 74 
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if not (_la==58):
                        break

                pass
            elif token in [-1]:
                self.state = 76
                self.match(ESLParser.EOF)
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class StatementContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def DECLARE(self):
            return self.getToken(ESLParser.DECLARE, 0)

        def declaration(self):
            return self.getTypedRuleContext(ESLParser.DeclarationContext,0)


        def EXCEPTION(self):
            return self.getToken(ESLParser.EXCEPTION, 0)

        def handling(self):
            return self.getTypedRuleContext(ESLParser.HandlingContext,0)


        def INCLUDE(self):
            return self.getToken(ESLParser.INCLUDE, 0)

        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)

        def source(self):
            return self.getTypedRuleContext(ESLParser.SourceContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_statement

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitStatement" ):
                return visitor.visitStatement(self)
            else:
                return visitor.visitChildren(self)




    def statement(self):

        localctx = ESLParser.StatementContext(self, self._ctx, self.state)
        self.enterRule(localctx, 4, self.RULE_statement)
        self._la = 0 # Token type
        try:
            self.state = 88
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [2]:
                self.enterOuterAlt(localctx, 1)
                self.state = 79
                self.match(ESLParser.DECLARE)
                self.state = 80
                self.declaration()
                pass
            elif token in [6]:
                self.enterOuterAlt(localctx, 2)
                self.state = 81
                self.match(ESLParser.EXCEPTION)
                self.state = 82
                self.handling()
                pass
            elif token in [1]:
                self.enterOuterAlt(localctx, 3)
                self.state = 83
                self.match(ESLParser.INCLUDE)
                self.state = 84
                self.match(ESLParser.STRING)
                self.state = 86
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if (((_la) & ~0x3f) == 0 and ((1 << _la) & 65970697666560) != 0):
                    self.state = 85
                    self.source()


                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class DeclarationContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return ESLParser.RULE_declaration

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class OffersContext(DeclarationContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DeclarationContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def RESOURCE(self):
            return self.getToken(ESLParser.RESOURCE, 0)
        def resource(self):
            return self.getTypedRuleContext(ESLParser.ResourceContext,0)

        def OPEN(self):
            return self.getToken(ESLParser.OPEN, 0)
        def offer(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.OfferContext)
            else:
                return self.getTypedRuleContext(ESLParser.OfferContext,i)

        def CLOSE(self):
            return self.getToken(ESLParser.CLOSE, 0)
        def NEWLINE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NEWLINE)
            else:
                return self.getToken(ESLParser.NEWLINE, i)
        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitOffers" ):
                return visitor.visitOffers(self)
            else:
                return visitor.visitChildren(self)


    class DeclaredContext(DeclarationContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DeclarationContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def EXCEPTION(self):
            return self.getToken(ESLParser.EXCEPTION, 0)
        def exceptionName(self):
            return self.getTypedRuleContext(ESLParser.ExceptionNameContext,0)

        def level(self):
            return self.getTypedRuleContext(ESLParser.LevelContext,0)

        def JOB(self):
            return self.getToken(ESLParser.JOB, 0)
        def OPEN(self):
            return self.getToken(ESLParser.OPEN, 0)
        def job(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.JobContext)
            else:
                return self.getTypedRuleContext(ESLParser.JobContext,i)

        def CLOSE(self):
            return self.getToken(ESLParser.CLOSE, 0)
        def NEWLINE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NEWLINE)
            else:
                return self.getToken(ESLParser.NEWLINE, i)
        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)
        def clause(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.ClauseContext)
            else:
                return self.getTypedRuleContext(ESLParser.ClauseContext,i)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitDeclared" ):
                return visitor.visitDeclared(self)
            else:
                return visitor.visitChildren(self)


    class EntitiesContext(DeclarationContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DeclarationContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def ENTITY(self):
            return self.getToken(ESLParser.ENTITY, 0)
        def entity(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.EntityContext)
            else:
                return self.getTypedRuleContext(ESLParser.EntityContext,i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitEntities" ):
                return visitor.visitEntities(self)
            else:
                return visitor.visitChildren(self)


    class LevelsContext(DeclarationContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DeclarationContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def EXCEPTION_TYPE(self):
            return self.getToken(ESLParser.EXCEPTION_TYPE, 0)
        def level(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.LevelContext)
            else:
                return self.getTypedRuleContext(ESLParser.LevelContext,i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitLevels" ):
                return visitor.visitLevels(self)
            else:
                return visitor.visitChildren(self)



    def declaration(self):

        localctx = ESLParser.DeclarationContext(self, self._ctx, self.state)
        self.enterRule(localctx, 6, self.RULE_declaration)
        self._la = 0 # Token type
        try:
            self.state = 189
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [3]:
                localctx = ESLParser.EntitiesContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 90
                self.match(ESLParser.ENTITY)
                self.state = 91
                self.entity()
                self.state = 96
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==50:
                    self.state = 92
                    self.match(ESLParser.COMMA)
                    self.state = 93
                    self.entity()
                    self.state = 98
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            elif token in [4]:
                localctx = ESLParser.LevelsContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 99
                self.match(ESLParser.EXCEPTION_TYPE)
                self.state = 100
                self.level()
                self.state = 105
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==50:
                    self.state = 101
                    self.match(ESLParser.COMMA)
                    self.state = 102
                    self.level()
                    self.state = 107
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            elif token in [5]:
                localctx = ESLParser.OffersContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 108
                self.match(ESLParser.RESOURCE)
                self.state = 109
                self.resource()
                self.state = 110
                self.match(ESLParser.OPEN)
                self.state = 114
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==58:
                    self.state = 111
                    self.match(ESLParser.NEWLINE)
                    self.state = 116
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 117
                self.offer()
                self.state = 121
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==58:
                    self.state = 118
                    self.match(ESLParser.NEWLINE)
                    self.state = 123
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 140
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==50:
                    self.state = 124
                    self.match(ESLParser.COMMA)
                    self.state = 128
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==58:
                        self.state = 125
                        self.match(ESLParser.NEWLINE)
                        self.state = 130
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 131
                    self.offer()
                    self.state = 135
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==58:
                        self.state = 132
                        self.match(ESLParser.NEWLINE)
                        self.state = 137
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 142
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 143
                self.match(ESLParser.CLOSE)
                pass
            elif token in [6]:
                localctx = ESLParser.DeclaredContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 145
                self.match(ESLParser.EXCEPTION)
                self.state = 146
                self.exceptionName()
                self.state = 147
                self.level()
                self.state = 148
                self.match(ESLParser.JOB)
                self.state = 149
                self.match(ESLParser.OPEN)
                self.state = 153
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==58:
                    self.state = 150
                    self.match(ESLParser.NEWLINE)
                    self.state = 155
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 156
                self.job()
                self.state = 160
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==58:
                    self.state = 157
                    self.match(ESLParser.NEWLINE)
                    self.state = 162
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 179
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==50:
                    self.state = 163
                    self.match(ESLParser.COMMA)
                    self.state = 167
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==58:
                        self.state = 164
                        self.match(ESLParser.NEWLINE)
                        self.state = 169
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 170
                    self.job()
                    self.state = 174
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==58:
                        self.state = 171
                        self.match(ESLParser.NEWLINE)
                        self.state = 176
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    self.state = 181
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 182
                self.match(ESLParser.CLOSE)
                self.state = 186
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while (((_la) & ~0x3f) == 0 and ((1 << _la) & 1219770712064) != 0):
                    self.state = 183
                    self.clause()
                    self.state = 188
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class HandlingContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return ESLParser.RULE_handling

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class RecoveredContext(HandlingContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.HandlingContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def RECOVERY(self):
            return self.getToken(ESLParser.RECOVERY, 0)
        def STEP(self):
            return self.getToken(ESLParser.STEP, 0)
        def exceptionName(self):
            return self.getTypedRuleContext(ESLParser.ExceptionNameContext,0)

        def entity(self):
            return self.getTypedRuleContext(ESLParser.EntityContext,0)

        def resource(self):
            return self.getTypedRuleContext(ESLParser.ResourceContext,0)

        def DOT(self):
            return self.getToken(ESLParser.DOT, 0)
        def operation(self):
            return self.getTypedRuleContext(ESLParser.OperationContext,0)

        def JSON_OBJECT(self):
            return self.getToken(ESLParser.JSON_OBJECT, 0)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitRecovered" ):
                return visitor.visitRecovered(self)
            else:
                return visitor.visitChildren(self)


    class DetectedContext(HandlingContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.HandlingContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def DETECTION(self):
            return self.getToken(ESLParser.DETECTION, 0)
        def exceptionName(self):
            return self.getTypedRuleContext(ESLParser.ExceptionNameContext,0)

        def detection(self):
            return self.getTypedRuleContext(ESLParser.DetectionContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitDetected" ):
                return visitor.visitDetected(self)
            else:
                return visitor.visitChildren(self)



    def handling(self):

        localctx = ESLParser.HandlingContext(self, self._ctx, self.state)
        self.enterRule(localctx, 8, self.RULE_handling)
        self._la = 0 # Token type
        try:
            self.state = 205
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [7]:
                localctx = ESLParser.DetectedContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 191
                self.match(ESLParser.DETECTION)
                self.state = 192
                self.exceptionName()
                self.state = 193
                self.detection()
                pass
            elif token in [8]:
                localctx = ESLParser.RecoveredContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 195
                self.match(ESLParser.RECOVERY)
                self.state = 196
                self.match(ESLParser.STEP)
                self.state = 197
                self.exceptionName()
                self.state = 198
                self.entity()
                self.state = 199
                self.resource()
                self.state = 200
                self.match(ESLParser.DOT)
                self.state = 201
                self.operation()
                self.state = 203
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==49:
                    self.state = 202
                    self.match(ESLParser.JSON_OBJECT)


                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class EntityContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def word(self):
            return self.getTypedRuleContext(ESLParser.WordContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_entity

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitEntity" ):
                return visitor.visitEntity(self)
            else:
                return visitor.visitChildren(self)




    def entity(self):

        localctx = ESLParser.EntityContext(self, self._ctx, self.state)
        self.enterRule(localctx, 10, self.RULE_entity)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 207
            self.word()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class LevelContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def word(self):
            return self.getTypedRuleContext(ESLParser.WordContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_level

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitLevel" ):
                return visitor.visitLevel(self)
            else:
                return visitor.visitChildren(self)




    def level(self):

        localctx = ESLParser.LevelContext(self, self._ctx, self.state)
        self.enterRule(localctx, 12, self.RULE_level)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 209
            self.word()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ResourceContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def word(self):
            return self.getTypedRuleContext(ESLParser.WordContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_resource

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitResource" ):
                return visitor.visitResource(self)
            else:
                return visitor.visitChildren(self)




    def resource(self):

        localctx = ESLParser.ResourceContext(self, self._ctx, self.state)
        self.enterRule(localctx, 14, self.RULE_resource)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 211
            self.word()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class OperationContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def word(self):
            return self.getTypedRuleContext(ESLParser.WordContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_operation

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitOperation" ):
                return visitor.visitOperation(self)
            else:
                return visitor.visitChildren(self)




    def operation(self):

        localctx = ESLParser.OperationContext(self, self._ctx, self.state)
        self.enterRule(localctx, 16, self.RULE_operation)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 213
            self.word()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ExceptionNameContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def word(self):
            return self.getTypedRuleContext(ESLParser.WordContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_exceptionName

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitExceptionName" ):
                return visitor.visitExceptionName(self)
            else:
                return visitor.visitChildren(self)




    def exceptionName(self):

        localctx = ESLParser.ExceptionNameContext(self, self._ctx, self.state)
        self.enterRule(localctx, 18, self.RULE_exceptionName)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 215
            self.word()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class OfferContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def operation(self):
            return self.getTypedRuleContext(ESLParser.OperationContext,0)


        def HANDLER(self):
            return self.getToken(ESLParser.HANDLER, 0)

        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_offer

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitOffer" ):
                return visitor.visitOffer(self)
            else:
                return visitor.visitChildren(self)




    def offer(self):

        localctx = ESLParser.OfferContext(self, self._ctx, self.state)
        self.enterRule(localctx, 20, self.RULE_offer)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 217
            self.operation()
            self.state = 220
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==12:
                self.state = 218
                self.match(ESLParser.HANDLER)
                self.state = 219
                self.match(ESLParser.STRING)


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class JobContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def STRING(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.STRING)
            else:
                return self.getToken(ESLParser.STRING, i)

        def JSON_OBJECT(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.JSON_OBJECT)
            else:
                return self.getToken(ESLParser.JSON_OBJECT, i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)

        def OPEN(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.OPEN)
            else:
                return self.getToken(ESLParser.OPEN, i)

        def CLOSE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.CLOSE)
            else:
                return self.getToken(ESLParser.CLOSE, i)

        def PERCENT(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.PERCENT)
            else:
                return self.getToken(ESLParser.PERCENT, i)

        def NEWLINE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NEWLINE)
            else:
                return self.getToken(ESLParser.NEWLINE, i)

        def INVALID(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.INVALID)
            else:
                return self.getToken(ESLParser.INVALID, i)

        def getRuleIndex(self):
            return ESLParser.RULE_job

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitJob" ):
                return visitor.visitJob(self)
            else:
                return visitor.visitChildren(self)




    def job(self):

        localctx = ESLParser.JobContext(self, self._ctx, self.state)
        self.enterRule(localctx, 22, self.RULE_job)
        self._la = 0 # Token type
        try:
            self.state = 228
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [48]:
                self.enterOuterAlt(localctx, 1)
                self.state = 222
                self.match(ESLParser.STRING)
                pass
            elif token in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 53, 54, 55, 56, 59, 60, 61]:
                self.enterOuterAlt(localctx, 2)
                self.state = 224 
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while True:
                    self.state = 223
                    _la = self._input.LA(1)
                    if _la <= 0 or (((_la) & ~0x3f) == 0 and ((1 << _la) & 5052757306932985856) != 0):
                        self._errHandler.recoverInline(self)
                    else:
                        self._errHandler.reportMatch(self)
                        self.consume()
                    self.state = 226 
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    if not ((((_la) & ~0x3f) == 0 and ((1 << _la) & 4170614729921789950) != 0)):
                        break

                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class WordContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def IDENTIFIER(self):
            return self.getToken(ESLParser.IDENTIFIER, 0)

        def INCLUDE(self):
            return self.getToken(ESLParser.INCLUDE, 0)

        def DECLARE(self):
            return self.getToken(ESLParser.DECLARE, 0)

        def ENTITY(self):
            return self.getToken(ESLParser.ENTITY, 0)

        def EXCEPTION_TYPE(self):
            return self.getToken(ESLParser.EXCEPTION_TYPE, 0)

        def RESOURCE(self):
            return self.getToken(ESLParser.RESOURCE, 0)

        def EXCEPTION(self):
            return self.getToken(ESLParser.EXCEPTION, 0)

        def DETECTION(self):
            return self.getToken(ESLParser.DETECTION, 0)

        def RECOVERY(self):
            return self.getToken(ESLParser.RECOVERY, 0)

        def STEP(self):
            return self.getToken(ESLParser.STEP, 0)

        def JOB(self):
            return self.getToken(ESLParser.JOB, 0)

        def NODE(self):
            return self.getToken(ESLParser.NODE, 0)

        def HANDLER(self):
            return self.getToken(ESLParser.HANDLER, 0)

        def LOG(self):
            return self.getToken(ESLParser.LOG, 0)

        def MATCH(self):
            return self.getToken(ESLParser.MATCH, 0)

        def MULTIPLE(self):
            return self.getToken(ESLParser.MULTIPLE, 0)

        def ANY(self):
            return self.getToken(ESLParser.ANY, 0)

        def HANG(self):
            return self.getToken(ESLParser.HANG, 0)

        def SILENCE(self):
            return self.getToken(ESLParser.SILENCE, 0)

        def PROGRESS(self):
            return self.getToken(ESLParser.PROGRESS, 0)

        def EXIT(self):
            return self.getToken(ESLParser.EXIT, 0)

        def CODE(self):
            return self.getToken(ESLParser.CODE, 0)

        def SIGNAL(self):
            return self.getToken(ESLParser.SIGNAL, 0)

        def DOWN(self):
            return self.getToken(ESLParser.DOWN, 0)

        def DRAINED(self):
            return self.getToken(ESLParser.DRAINED, 0)

        def DISK(self):
            return self.getToken(ESLParser.DISK, 0)

        def INODES(self):
            return self.getToken(ESLParser.INODES, 0)

        def QUOTA(self):
            return self.getToken(ESLParser.QUOTA, 0)

        def ABOVE(self):
            return self.getToken(ESLParser.ABOVE, 0)

        def RECURRING(self):
            return self.getToken(ESLParser.RECURRING, 0)

        def TIMES(self):
            return self.getToken(ESLParser.TIMES, 0)

        def WITHIN(self):
            return self.getToken(ESLParser.WITHIN, 0)

        def TIMEOUT(self):
            return self.getToken(ESLParser.TIMEOUT, 0)

        def WARMUP(self):
            return self.getToken(ESLParser.WARMUP, 0)

        def LIMIT(self):
            return self.getToken(ESLParser.LIMIT, 0)

        def BACKOFF(self):
            return self.getToken(ESLParser.BACKOFF, 0)

        def ELSE(self):
            return self.getToken(ESLParser.ELSE, 0)

        def FAIL(self):
            return self.getToken(ESLParser.FAIL, 0)

        def PAUSE(self):
            return self.getToken(ESLParser.PAUSE, 0)

        def ESCALATE(self):
            return self.getToken(ESLParser.ESCALATE, 0)

        def RAISE(self):
            return self.getToken(ESLParser.RAISE, 0)

        def SEVERITY(self):
            return self.getToken(ESLParser.SEVERITY, 0)

        def STDOUT(self):
            return self.getToken(ESLParser.STDOUT, 0)

        def STDERR(self):
            return self.getToken(ESLParser.STDERR, 0)

        def OUTPUT(self):
            return self.getToken(ESLParser.OUTPUT, 0)

        def FILE(self):
            return self.getToken(ESLParser.FILE, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_word

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitWord" ):
                return visitor.visitWord(self)
            else:
                return visitor.visitChildren(self)




    def word(self):

        localctx = ESLParser.WordContext(self, self._ctx, self.state)
        self.enterRule(localctx, 24, self.RULE_word)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 230
            _la = self._input.LA(1)
            if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 140737488355326) != 0)):
                self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ClauseContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return ESLParser.RULE_clause

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class OtherwiseContext(ClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.ClauseContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def ELSE(self):
            return self.getToken(ESLParser.ELSE, 0)
        def FAIL(self):
            return self.getToken(ESLParser.FAIL, 0)
        def PAUSE(self):
            return self.getToken(ESLParser.PAUSE, 0)
        def ESCALATE(self):
            return self.getToken(ESLParser.ESCALATE, 0)
        def exceptionName(self):
            return self.getTypedRuleContext(ESLParser.ExceptionNameContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitOtherwise" ):
                return visitor.visitOtherwise(self)
            else:
                return visitor.visitChildren(self)


    class BackoffContext(ClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.ClauseContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def BACKOFF(self):
            return self.getToken(ESLParser.BACKOFF, 0)
        def seconds(self):
            return self.getTypedRuleContext(ESLParser.SecondsContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitBackoff" ):
                return visitor.visitBackoff(self)
            else:
                return visitor.visitChildren(self)


    class LimitContext(ClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.ClauseContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def LIMIT(self):
            return self.getToken(ESLParser.LIMIT, 0)
        def count(self):
            return self.getTypedRuleContext(ESLParser.CountContext,0)

        def within(self):
            return self.getTypedRuleContext(ESLParser.WithinContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitLimit" ):
                return visitor.visitLimit(self)
            else:
                return visitor.visitChildren(self)


    class RaiseContext(ClauseContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.ClauseContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def RAISE(self):
            return self.getToken(ESLParser.RAISE, 0)
        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)
        def severity(self):
            return self.getTypedRuleContext(ESLParser.SeverityContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitRaise" ):
                return visitor.visitRaise(self)
            else:
                return visitor.visitChildren(self)



    def clause(self):

        localctx = ESLParser.ClauseContext(self, self._ctx, self.state)
        self.enterRule(localctx, 26, self.RULE_clause)
        self._la = 0 # Token type
        try:
            self.state = 253
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [34]:
                localctx = ESLParser.LimitContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 232
                self.match(ESLParser.LIMIT)
                self.state = 233
                self.count()
                self.state = 235
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==31:
                    self.state = 234
                    self.within()


                pass
            elif token in [35]:
                localctx = ESLParser.BackoffContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 237
                self.match(ESLParser.BACKOFF)
                self.state = 238
                self.seconds()
                pass
            elif token in [36]:
                localctx = ESLParser.OtherwiseContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 239
                self.match(ESLParser.ELSE)
                self.state = 246
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [37]:
                    self.state = 240
                    self.match(ESLParser.FAIL)
                    pass
                elif token in [38]:
                    self.state = 241
                    self.match(ESLParser.PAUSE)
                    pass
                elif token in [39]:
                    self.state = 242
                    self.match(ESLParser.ESCALATE)
                    self.state = 244
                    self._errHandler.sync(self)
                    la_ = self._interp.adaptivePredict(self._input,26,self._ctx)
                    if la_ == 1:
                        self.state = 243
                        self.exceptionName()


                    pass
                else:
                    raise NoViableAltException(self)

                pass
            elif token in [40]:
                localctx = ESLParser.RaiseContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 248
                self.match(ESLParser.RAISE)
                self.state = 249
                self.match(ESLParser.STRING)
                self.state = 251
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==41:
                    self.state = 250
                    self.severity()


                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class DetectionContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser


        def getRuleIndex(self):
            return ESLParser.RULE_detection

     
        def copyFrom(self, ctx:ParserRuleContext):
            super().copyFrom(ctx)



    class ExitContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def EXIT(self):
            return self.getToken(ESLParser.EXIT, 0)
        def ANY(self):
            return self.getToken(ESLParser.ANY, 0)
        def CODE(self):
            return self.getToken(ESLParser.CODE, 0)
        def codes(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.CodesContext)
            else:
                return self.getTypedRuleContext(ESLParser.CodesContext,i)

        def SIGNAL(self):
            return self.getToken(ESLParser.SIGNAL, 0)
        def signal(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.SignalContext)
            else:
                return self.getTypedRuleContext(ESLParser.SignalContext,i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitExit" ):
                return visitor.visitExit(self)
            else:
                return visitor.visitChildren(self)


    class NodeContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def NODE(self):
            return self.getToken(ESLParser.NODE, 0)
        def DOWN(self):
            return self.getToken(ESLParser.DOWN, 0)
        def DRAINED(self):
            return self.getToken(ESLParser.DRAINED, 0)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitNode" ):
                return visitor.visitNode(self)
            else:
                return visitor.visitChildren(self)


    class HangContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def HANG(self):
            return self.getToken(ESLParser.HANG, 0)
        def pattern(self):
            return self.getTypedRuleContext(ESLParser.PatternContext,0)

        def source(self):
            return self.getTypedRuleContext(ESLParser.SourceContext,0)

        def timer(self):
            return self.getTypedRuleContext(ESLParser.TimerContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitHang" ):
                return visitor.visitHang(self)
            else:
                return visitor.visitChildren(self)


    class DiskContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)
        def ABOVE(self):
            return self.getToken(ESLParser.ABOVE, 0)
        def percent(self):
            return self.getTypedRuleContext(ESLParser.PercentContext,0)

        def PERCENT(self):
            return self.getToken(ESLParser.PERCENT, 0)
        def DISK(self):
            return self.getToken(ESLParser.DISK, 0)
        def INODES(self):
            return self.getToken(ESLParser.INODES, 0)
        def QUOTA(self):
            return self.getToken(ESLParser.QUOTA, 0)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitDisk" ):
                return visitor.visitDisk(self)
            else:
                return visitor.visitChildren(self)


    class LogContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def pattern(self):
            return self.getTypedRuleContext(ESLParser.PatternContext,0)

        def source(self):
            return self.getTypedRuleContext(ESLParser.SourceContext,0)

        def recurring(self):
            return self.getTypedRuleContext(ESLParser.RecurringContext,0)

        def timer(self):
            return self.getTypedRuleContext(ESLParser.TimerContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitLog" ):
                return visitor.visitLog(self)
            else:
                return visitor.visitChildren(self)


    class JobExceptionContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def JOB(self):
            return self.getToken(ESLParser.JOB, 0)
        def EXCEPTION(self):
            return self.getToken(ESLParser.EXCEPTION, 0)
        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)
        def severity(self):
            return self.getTypedRuleContext(ESLParser.SeverityContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitJobException" ):
                return visitor.visitJobException(self)
            else:
                return visitor.visitChildren(self)


    class MultipleContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def MULTIPLE(self):
            return self.getToken(ESLParser.MULTIPLE, 0)
        def patterns(self):
            return self.getTypedRuleContext(ESLParser.PatternsContext,0)

        def source(self):
            return self.getTypedRuleContext(ESLParser.SourceContext,0)

        def within(self):
            return self.getTypedRuleContext(ESLParser.WithinContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitMultiple" ):
                return visitor.visitMultiple(self)
            else:
                return visitor.visitChildren(self)


    class AnyOfContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def ANY(self):
            return self.getToken(ESLParser.ANY, 0)
        def patterns(self):
            return self.getTypedRuleContext(ESLParser.PatternsContext,0)

        def source(self):
            return self.getTypedRuleContext(ESLParser.SourceContext,0)

        def recurring(self):
            return self.getTypedRuleContext(ESLParser.RecurringContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitAnyOf" ):
                return visitor.visitAnyOf(self)
            else:
                return visitor.visitChildren(self)


    class ProgressContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def PROGRESS(self):
            return self.getToken(ESLParser.PROGRESS, 0)
        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)
        def source(self):
            return self.getTypedRuleContext(ESLParser.SourceContext,0)

        def timer(self):
            return self.getTypedRuleContext(ESLParser.TimerContext,0)

        def MATCH(self):
            return self.getToken(ESLParser.MATCH, 0)

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitProgress" ):
                return visitor.visitProgress(self)
            else:
                return visitor.visitChildren(self)


    class CountedContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def EXCEPTION(self):
            return self.getToken(ESLParser.EXCEPTION, 0)
        def exceptionName(self):
            return self.getTypedRuleContext(ESLParser.ExceptionNameContext,0)

        def count(self):
            return self.getTypedRuleContext(ESLParser.CountContext,0)

        def TIMES(self):
            return self.getToken(ESLParser.TIMES, 0)
        def within(self):
            return self.getTypedRuleContext(ESLParser.WithinContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitCounted" ):
                return visitor.visitCounted(self)
            else:
                return visitor.visitChildren(self)


    class SilenceContext(DetectionContext):

        def __init__(self, parser, ctx:ParserRuleContext): # actually a ESLParser.DetectionContext
            super().__init__(parser)
            self.copyFrom(ctx)

        def SILENCE(self):
            return self.getToken(ESLParser.SILENCE, 0)
        def timer(self):
            return self.getTypedRuleContext(ESLParser.TimerContext,0)


        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitSilence" ):
                return visitor.visitSilence(self)
            else:
                return visitor.visitChildren(self)



    def detection(self):

        localctx = ESLParser.DetectionContext(self, self._ctx, self.state)
        self.enterRule(localctx, 28, self.RULE_detection)
        self._la = 0 # Token type
        try:
            self.state = 331
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [17]:
                localctx = ESLParser.HangContext(self, localctx)
                self.enterOuterAlt(localctx, 1)
                self.state = 255
                self.match(ESLParser.HANG)
                self.state = 256
                self.pattern()
                self.state = 257
                self.source()
                self.state = 258
                self.timer()
                pass
            elif token in [13, 14]:
                localctx = ESLParser.LogContext(self, localctx)
                self.enterOuterAlt(localctx, 2)
                self.state = 260
                self.pattern()
                self.state = 261
                self.source()
                self.state = 264
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [29]:
                    self.state = 262
                    self.recurring()
                    pass
                elif token in [32]:
                    self.state = 263
                    self.timer()
                    pass
                elif token in [-1, 58]:
                    pass
                else:
                    pass
                pass
            elif token in [15]:
                localctx = ESLParser.MultipleContext(self, localctx)
                self.enterOuterAlt(localctx, 3)
                self.state = 266
                self.match(ESLParser.MULTIPLE)
                self.state = 267
                self.patterns()
                self.state = 268
                self.source()
                self.state = 270
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==31:
                    self.state = 269
                    self.within()


                pass
            elif token in [16]:
                localctx = ESLParser.AnyOfContext(self, localctx)
                self.enterOuterAlt(localctx, 4)
                self.state = 272
                self.match(ESLParser.ANY)
                self.state = 273
                self.patterns()
                self.state = 274
                self.source()
                self.state = 276
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==29:
                    self.state = 275
                    self.recurring()


                pass
            elif token in [18]:
                localctx = ESLParser.SilenceContext(self, localctx)
                self.enterOuterAlt(localctx, 5)
                self.state = 278
                self.match(ESLParser.SILENCE)
                self.state = 279
                self.timer()
                pass
            elif token in [19]:
                localctx = ESLParser.ProgressContext(self, localctx)
                self.enterOuterAlt(localctx, 6)
                self.state = 280
                self.match(ESLParser.PROGRESS)
                self.state = 282
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==14:
                    self.state = 281
                    self.match(ESLParser.MATCH)


                self.state = 284
                self.match(ESLParser.STRING)
                self.state = 285
                self.source()
                self.state = 286
                self.timer()
                pass
            elif token in [20]:
                localctx = ESLParser.ExitContext(self, localctx)
                self.enterOuterAlt(localctx, 7)
                self.state = 288
                self.match(ESLParser.EXIT)
                self.state = 308
                self._errHandler.sync(self)
                token = self._input.LA(1)
                if token in [16]:
                    self.state = 289
                    self.match(ESLParser.ANY)
                    pass
                elif token in [21]:
                    self.state = 290
                    self.match(ESLParser.CODE)
                    self.state = 291
                    self.codes()
                    self.state = 296
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==50:
                        self.state = 292
                        self.match(ESLParser.COMMA)
                        self.state = 293
                        self.codes()
                        self.state = 298
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    pass
                elif token in [22]:
                    self.state = 299
                    self.match(ESLParser.SIGNAL)
                    self.state = 300
                    self.signal()
                    self.state = 305
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)
                    while _la==50:
                        self.state = 301
                        self.match(ESLParser.COMMA)
                        self.state = 302
                        self.signal()
                        self.state = 307
                        self._errHandler.sync(self)
                        _la = self._input.LA(1)

                    pass
                else:
                    raise NoViableAltException(self)

                pass
            elif token in [11]:
                localctx = ESLParser.NodeContext(self, localctx)
                self.enterOuterAlt(localctx, 8)
                self.state = 310
                self.match(ESLParser.NODE)
                self.state = 311
                _la = self._input.LA(1)
                if not(_la==23 or _la==24):
                    self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                pass
            elif token in [25, 26, 27]:
                localctx = ESLParser.DiskContext(self, localctx)
                self.enterOuterAlt(localctx, 9)
                self.state = 312
                _la = self._input.LA(1)
                if not((((_la) & ~0x3f) == 0 and ((1 << _la) & 234881024) != 0)):
                    self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()
                self.state = 313
                self.match(ESLParser.STRING)
                self.state = 314
                self.match(ESLParser.ABOVE)
                self.state = 315
                self.percent()
                self.state = 316
                self.match(ESLParser.PERCENT)
                pass
            elif token in [6]:
                localctx = ESLParser.CountedContext(self, localctx)
                self.enterOuterAlt(localctx, 10)
                self.state = 318
                self.match(ESLParser.EXCEPTION)
                self.state = 319
                self.exceptionName()
                self.state = 320
                self.count()
                self.state = 321
                self.match(ESLParser.TIMES)
                self.state = 323
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==31:
                    self.state = 322
                    self.within()


                pass
            elif token in [10]:
                localctx = ESLParser.JobExceptionContext(self, localctx)
                self.enterOuterAlt(localctx, 11)
                self.state = 325
                self.match(ESLParser.JOB)
                self.state = 326
                self.match(ESLParser.EXCEPTION)
                self.state = 327
                self.match(ESLParser.STRING)
                self.state = 329
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                if _la==41:
                    self.state = 328
                    self.severity()


                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class PatternContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)

        def LOG(self):
            return self.getToken(ESLParser.LOG, 0)

        def MATCH(self):
            return self.getToken(ESLParser.MATCH, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_pattern

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitPattern" ):
                return visitor.visitPattern(self)
            else:
                return visitor.visitChildren(self)




    def pattern(self):

        localctx = ESLParser.PatternContext(self, self._ctx, self.state)
        self.enterRule(localctx, 30, self.RULE_pattern)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 333
            _la = self._input.LA(1)
            if not(_la==13 or _la==14):
                self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
            self.state = 334
            self.match(ESLParser.STRING)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class PatternsContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def OPEN(self):
            return self.getToken(ESLParser.OPEN, 0)

        def listed(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.ListedContext)
            else:
                return self.getTypedRuleContext(ESLParser.ListedContext,i)


        def CLOSE(self):
            return self.getToken(ESLParser.CLOSE, 0)

        def NEWLINE(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NEWLINE)
            else:
                return self.getToken(ESLParser.NEWLINE, i)

        def COMMA(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.COMMA)
            else:
                return self.getToken(ESLParser.COMMA, i)

        def getRuleIndex(self):
            return ESLParser.RULE_patterns

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitPatterns" ):
                return visitor.visitPatterns(self)
            else:
                return visitor.visitChildren(self)




    def patterns(self):

        localctx = ESLParser.PatternsContext(self, self._ctx, self.state)
        self.enterRule(localctx, 32, self.RULE_patterns)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 336
            self.match(ESLParser.OPEN)
            self.state = 340
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==58:
                self.state = 337
                self.match(ESLParser.NEWLINE)
                self.state = 342
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 343
            self.listed()
            self.state = 347
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==58:
                self.state = 344
                self.match(ESLParser.NEWLINE)
                self.state = 349
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 366
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            while _la==50:
                self.state = 350
                self.match(ESLParser.COMMA)
                self.state = 354
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==58:
                    self.state = 351
                    self.match(ESLParser.NEWLINE)
                    self.state = 356
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 357
                self.listed()
                self.state = 361
                self._errHandler.sync(self)
                _la = self._input.LA(1)
                while _la==58:
                    self.state = 358
                    self.match(ESLParser.NEWLINE)
                    self.state = 363
                    self._errHandler.sync(self)
                    _la = self._input.LA(1)

                self.state = 368
                self._errHandler.sync(self)
                _la = self._input.LA(1)

            self.state = 369
            self.match(ESLParser.CLOSE)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class ListedContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)

        def LOG(self):
            return self.getToken(ESLParser.LOG, 0)

        def MATCH(self):
            return self.getToken(ESLParser.MATCH, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_listed

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitListed" ):
                return visitor.visitListed(self)
            else:
                return visitor.visitChildren(self)




    def listed(self):

        localctx = ESLParser.ListedContext(self, self._ctx, self.state)
        self.enterRule(localctx, 34, self.RULE_listed)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 372
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==13 or _la==14:
                self.state = 371
                _la = self._input.LA(1)
                if not(_la==13 or _la==14):
                    self._errHandler.recoverInline(self)
                else:
                    self._errHandler.reportMatch(self)
                    self.consume()


            self.state = 374
            self.match(ESLParser.STRING)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class SourceContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def STDOUT(self):
            return self.getToken(ESLParser.STDOUT, 0)

        def STDERR(self):
            return self.getToken(ESLParser.STDERR, 0)

        def OUTPUT(self):
            return self.getToken(ESLParser.OUTPUT, 0)

        def FILE(self):
            return self.getToken(ESLParser.FILE, 0)

        def STRING(self):
            return self.getToken(ESLParser.STRING, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_source

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitSource" ):
                return visitor.visitSource(self)
            else:
                return visitor.visitChildren(self)




    def source(self):

        localctx = ESLParser.SourceContext(self, self._ctx, self.state)
        self.enterRule(localctx, 36, self.RULE_source)
        try:
            self.state = 381
            self._errHandler.sync(self)
            token = self._input.LA(1)
            if token in [42]:
                self.enterOuterAlt(localctx, 1)
                self.state = 376
                self.match(ESLParser.STDOUT)
                pass
            elif token in [43]:
                self.enterOuterAlt(localctx, 2)
                self.state = 377
                self.match(ESLParser.STDERR)
                pass
            elif token in [44]:
                self.enterOuterAlt(localctx, 3)
                self.state = 378
                self.match(ESLParser.OUTPUT)
                pass
            elif token in [45]:
                self.enterOuterAlt(localctx, 4)
                self.state = 379
                self.match(ESLParser.FILE)
                self.state = 380
                self.match(ESLParser.STRING)
                pass
            else:
                raise NoViableAltException(self)

        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class RecurringContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def RECURRING(self):
            return self.getToken(ESLParser.RECURRING, 0)

        def count(self):
            return self.getTypedRuleContext(ESLParser.CountContext,0)


        def within(self):
            return self.getTypedRuleContext(ESLParser.WithinContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_recurring

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitRecurring" ):
                return visitor.visitRecurring(self)
            else:
                return visitor.visitChildren(self)




    def recurring(self):

        localctx = ESLParser.RecurringContext(self, self._ctx, self.state)
        self.enterRule(localctx, 38, self.RULE_recurring)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 383
            self.match(ESLParser.RECURRING)
            self.state = 384
            self.count()
            self.state = 386
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==31:
                self.state = 385
                self.within()


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class WithinContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def WITHIN(self):
            return self.getToken(ESLParser.WITHIN, 0)

        def seconds(self):
            return self.getTypedRuleContext(ESLParser.SecondsContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_within

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitWithin" ):
                return visitor.visitWithin(self)
            else:
                return visitor.visitChildren(self)




    def within(self):

        localctx = ESLParser.WithinContext(self, self._ctx, self.state)
        self.enterRule(localctx, 40, self.RULE_within)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 388
            self.match(ESLParser.WITHIN)
            self.state = 389
            self.seconds()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class TimerContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def TIMEOUT(self):
            return self.getToken(ESLParser.TIMEOUT, 0)

        def seconds(self, i:int=None):
            if i is None:
                return self.getTypedRuleContexts(ESLParser.SecondsContext)
            else:
                return self.getTypedRuleContext(ESLParser.SecondsContext,i)


        def WARMUP(self):
            return self.getToken(ESLParser.WARMUP, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_timer

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitTimer" ):
                return visitor.visitTimer(self)
            else:
                return visitor.visitChildren(self)




    def timer(self):

        localctx = ESLParser.TimerContext(self, self._ctx, self.state)
        self.enterRule(localctx, 42, self.RULE_timer)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 391
            self.match(ESLParser.TIMEOUT)
            self.state = 392
            self.seconds()
            self.state = 395
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==33:
                self.state = 393
                self.match(ESLParser.WARMUP)
                self.state = 394
                self.seconds()


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class CodesContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def NUMBER(self, i:int=None):
            if i is None:
                return self.getTokens(ESLParser.NUMBER)
            else:
                return self.getToken(ESLParser.NUMBER, i)

        def DASH(self):
            return self.getToken(ESLParser.DASH, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_codes

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitCodes" ):
                return visitor.visitCodes(self)
            else:
                return visitor.visitChildren(self)




    def codes(self):

        localctx = ESLParser.CodesContext(self, self._ctx, self.state)
        self.enterRule(localctx, 44, self.RULE_codes)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 397
            self.match(ESLParser.NUMBER)
            self.state = 400
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==54:
                self.state = 398
                self.match(ESLParser.DASH)
                self.state = 399
                self.match(ESLParser.NUMBER)


        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class SeverityContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def SEVERITY(self):
            return self.getToken(ESLParser.SEVERITY, 0)

        def count(self):
            return self.getTypedRuleContext(ESLParser.CountContext,0)


        def getRuleIndex(self):
            return ESLParser.RULE_severity

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitSeverity" ):
                return visitor.visitSeverity(self)
            else:
                return visitor.visitChildren(self)




    def severity(self):

        localctx = ESLParser.SeverityContext(self, self._ctx, self.state)
        self.enterRule(localctx, 46, self.RULE_severity)
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 402
            self.match(ESLParser.SEVERITY)
            self.state = 403
            self.count()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class SignalContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def IDENTIFIER(self):
            return self.getToken(ESLParser.IDENTIFIER, 0)

        def NUMBER(self):
            return self.getToken(ESLParser.NUMBER, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_signal

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitSignal" ):
                return visitor.visitSignal(self)
            else:
                return visitor.visitChildren(self)




    def signal(self):

        localctx = ESLParser.SignalContext(self, self._ctx, self.state)
        self.enterRule(localctx, 48, self.RULE_signal)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 405
            _la = self._input.LA(1)
            if not(_la==46 or _la==47):
                self._errHandler.recoverInline(self)
            else:
                self._errHandler.reportMatch(self)
                self.consume()
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class CountContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def NUMBER(self):
            return self.getToken(ESLParser.NUMBER, 0)

        def DASH(self):
            return self.getToken(ESLParser.DASH, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_count

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitCount" ):
                return visitor.visitCount(self)
            else:
                return visitor.visitChildren(self)




    def count(self):

        localctx = ESLParser.CountContext(self, self._ctx, self.state)
        self.enterRule(localctx, 50, self.RULE_count)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 408
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==54:
                self.state = 407
                self.match(ESLParser.DASH)


            self.state = 410
            self.match(ESLParser.NUMBER)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class SecondsContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def NUMBER(self):
            return self.getToken(ESLParser.NUMBER, 0)

        def DASH(self):
            return self.getToken(ESLParser.DASH, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_seconds

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitSeconds" ):
                return visitor.visitSeconds(self)
            else:
                return visitor.visitChildren(self)




    def seconds(self):

        localctx = ESLParser.SecondsContext(self, self._ctx, self.state)
        self.enterRule(localctx, 52, self.RULE_seconds)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 413
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==54:
                self.state = 412
                self.match(ESLParser.DASH)


            self.state = 415
            self.match(ESLParser.NUMBER)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx


    class PercentContext(ParserRuleContext):
        __slots__ = 'parser'

        def __init__(self, parser, parent:ParserRuleContext=None, invokingState:int=-1):
            super().__init__(parent, invokingState)
            self.parser = parser

        def NUMBER(self):
            return self.getToken(ESLParser.NUMBER, 0)

        def DASH(self):
            return self.getToken(ESLParser.DASH, 0)

        def getRuleIndex(self):
            return ESLParser.RULE_percent

        def accept(self, visitor:ParseTreeVisitor):
            if hasattr( visitor, "visitPercent" ):
                return visitor.visitPercent(self)
            else:
                return visitor.visitChildren(self)




    def percent(self):

        localctx = ESLParser.PercentContext(self, self._ctx, self.state)
        self.enterRule(localctx, 54, self.RULE_percent)
        self._la = 0 # Token type
        try:
            self.enterOuterAlt(localctx, 1)
            self.state = 418
            self._errHandler.sync(self)
            _la = self._input.LA(1)
            if _la==54:
                self.state = 417
                self.match(ESLParser.DASH)


            self.state = 420
            self.match(ESLParser.NUMBER)
        except RecognitionException as re:
            localctx.exception = re
            self._errHandler.reportError(self, re)
            self._errHandler.recover(self, re)
        finally:
            self.exitRule()
        return localctx





